# One run of ns-2 2.35, settings as KEY VALUE pairs:
#   ns ns2.tcl variant Linux-cubic rate 2.34Mb delay 250ms size 1500 buffer 100 loss 1e-3 seed 1 duration 400
# Prints one line: packets acknowledged, data packets sent, of these again, and timeouts, summed over the flows,
# and packets that the bottleneck sent.
#
# variant   an Agent/TCP (Reno, Newreno, Sack1, …), or Linux-NAME for that congestion control of Agent/TCP/Linux
# flows     how many, all alike; start: the last second in which one may begin, drawn uniformly
# access    rate of the links on both sides of the bottleneck, each `access_delay` long; none for one link in all
# size      bytes on the wire; buffer: packets, the one in service included; window: packets
# timestamps 1 for the option, which is 10 of the bytes: without it Agent/TCP/Linux times one packet a window, too
#           few for Compound and Vegas
# loss      of a packet behind the queue; drops: a file with the ordinals (from 0) of packets to lose there instead
# trace     a file: at every change of the window, time, cwnd, ssthresh, highest packet acknowledged and sent

array set o {
    variant Newreno rate 2.34Mb delay 250ms size 1500 buffer 100 window 1000000 iw 2 delayed_ack off flows 1 start 0
    loss 0 drops {} seed 1 duration 400 min_rto 0.2 tick 0.01 limited_transmit 1 access {} access_delay 20ms trace {}
    timestamps 0 set {}
}
foreach {key value} $argv {
    if {![info exists o($key)]} {
        puts stderr "ns2.tcl: found '$key', expected one of [lsort [array names o]]"
        exit 2
    }
    set o($key) $value
}

Agent/TCP set window_ $o(window)
Agent/TCP set maxcwnd_ 0
Agent/TCP set timestamps_ $o(timestamps)
Agent/TCP set packetSize_ [expr {$o(size) - 40 - ($o(timestamps) ? 10 : 0)}]
Agent/TCP set windowInit_ $o(iw)
Agent/TCP set minrto_ $o(min_rto)
Agent/TCP set tcpTick_ $o(tick)
Agent/TCP set singledup_ $o(limited_transmit)
Agent/TCP/Linux set minrto_ $o(min_rto)
Agent/TCP/Linux set maxrto_ 60
# Any other variable of the agent, such as {maxburst_ 3}: to switch a mechanism off and see what it was worth.
foreach {name value} $o(set) { Agent/TCP set $name $value }

set ns [new Simulator]
# A seed is a substream: the first numbers behind a small seed are all small, and lose the first packet.
set random [new RNG]
$random seed 12345
for {set skipped 0} {$skipped < $o(seed)} {incr skipped} { $random next-substream }

set gateway [$ns node]
set exit [$ns node]
$ns simplex-link $gateway $exit $o(rate) $o(delay) DropTail
$ns simplex-link $exit $gateway 100Mb $o(delay) DropTail
$ns queue-limit $gateway $exit $o(buffer)
$ns queue-limit $exit $gateway 1000000

if {$o(drops) ne ""} {
    set errors [new ErrorModel/List]
    set file [open $o(drops)]
    $errors droplist [string map {\n " "} [read $file]]
    close $file
} else {
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ $o(loss)
    set uniform [new RandomVariable/Uniform]
    $uniform use-rng $random
    $errors ranvar $uniform
}
# Behind the queue, where a lost packet has used its time on the link.
if {$o(drops) ne "" || $o(loss) > 0} { $ns link-lossmodel $errors $gateway $exit }

proc ends {} {
    global ns o gateway exit
    if {$o(access) eq ""} { return [list $gateway $exit] }
    set from [$ns node]
    set to [$ns node]
    foreach {a b} [list $from $gateway $exit $to] {
        $ns duplex-link $a $b $o(access) $o(access_delay) DropTail
        $ns queue-limit $a $b 1000000
        $ns queue-limit $b $a 1000000
    }
    return [list $from $to]
}

set agents {}
for {set flow 0} {$flow < $o(flows)} {incr flow} {
    set linux [regexp {^Linux-(.*)$} $o(variant) all control]
    set tcp [new Agent/TCP/[expr {$linux ? "Linux" : $o(variant)}]]
    set kind [expr {$linux || [string match *Sack* $o(variant)] || $o(variant) eq "Fack" ? "Sack1" : ""}]
    if {$o(delayed_ack) ne "off"} { set kind $kind[expr {$kind eq "" ? "" : "/"}]DelAck }
    set sink [new Agent/TCPSink[expr {$kind eq "" ? "" : "/$kind"}]]
    if {$o(delayed_ack) ne "off"} { $sink set interval_ $o(delayed_ack) }
    lassign [ends] from to
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    set at [expr {$o(start) > 0 ? [$random uniform 0 $o(start)] : 0}]
    if {$linux} { $ns at $at "$tcp select_ca $control" }
    $ns at $at "$ftp start"
    lappend agents $tcp
}

if {$o(trace) ne ""} {
    set trace [open $o(trace) w]
    puts $trace "time_s,cwnd,ssthresh,acked,sent"
    proc note {} {
        global ns trace agents
        set tcp [lindex $agents 0]
        puts $trace "[$ns now],[$tcp set cwnd_],[$tcp set ssthresh_],[$tcp set ack_],[$tcp set maxseq_]"
        $ns at [expr {[$ns now] + 0.05}] note
    }
    $ns at 0.025 note
}

# Bytes that the bottleneck has sent, for its utilisation.
set queue [[$ns link $gateway $exit] queue]
set monitor [$ns monitor-queue $gateway $exit {}]

proc finish {} {
    global agents monitor
    set acked 0; set sent 0; set again 0; set timeouts 0
    foreach tcp $agents {
        incr acked [expr {max(0, [$tcp set ack_])}]
        incr sent [$tcp set ndatapack_]
        incr again [$tcp set nrexmitpack_]
        incr timeouts [$tcp set nrexmit_]
    }
    puts "$acked $sent $again $timeouts [$monitor set pdepartures_]"
    exit 0
}
$ns at $o(duration) finish
$ns run
