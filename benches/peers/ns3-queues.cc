// One run of ns-3.37 with a queue discipline in front of a link, settings as KEY VALUE pairs:
//   ns3-queues queue Red set ns3::RedQueueDisc::MinTh=20 flows 5 rate 10Mbps delay 50ms seed 1 duration 80
// Prints one line: packets delivered in order, mean queueing delay and its 95th percentile in ns, and the packets of each flow if
// `access` is set; all from `skip` seconds on.
//
// queue     a discipline of ns-3 without `QueueDisc`: Red, Pie, FqCoDel, CoDel
// size      bytes of an IP packet with the two of PPP; buffer: packets, the one in service not included
// quantum   bytes that a queue of FqCoDel may send in its turn
// access    delays from a host of its own for each flow to the queue, as 5ms,35ms; without, one host has all and the queue
// start     flows start at times that are uniform in 0 … start s
// set       an attribute, such as ns3::RedQueueDisc::Gentle=true; may stand more than once
// log       a file: a row for each packet that reaches the discipline, with the number of its queue under FqCoDel, its size as
//           an IP packet, and when its service begins; empty if it is dropped
//
// Nothing waits in the device: it takes a packet from the discipline when the link is free, as Linux does with a limit of one
// packet (BQL). The queueing delay is from the arrival at the discipline to the begin of service, of packets that are served.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t PPP = 2;
constexpr uint32_t HEADERS = 40;
constexpr uint32_t TIMESTAMP = 12;
constexpr uint16_t PORT = 9;
constexpr uint32_t FLOWS = 1024;

std::map<std::string, std::string> options = {
    {"queue", "Pie"},
    {"variant", "TcpNewReno"},
    {"access", ""},
    {"flows", "1"},
    {"rate", "10Mbps"},
    {"delay", "50ms"},
    {"size", "1500"},
    {"buffer", "1000"},
    {"quantum", "1514"},
    {"iw", "10"},
    {"delayed_ack", "2"},
    {"delayed_ack_timer", "200ms"},
    {"start", "2"},
    {"seed", "1"},
    {"skip", "20"},
    {"duration", "80"},
    {"log", ""},
};

// A packet at the discipline.
struct Arrival
{
    int64_t at_ns;
    uint32_t flow;
    uint32_t bytes;
    int64_t begin_ns;
};

Time skip;
// The packet that left the discipline last.
Ptr<const QueueDiscItem> taken;
std::vector<int64_t> delays_ns;
std::vector<Arrival> arrivals;
std::map<Ptr<const QueueDiscItem>, size_t> places;
Ptr<NetDeviceQueue> gate;
std::vector<Ptr<PacketSink>> sinks;
std::vector<uint64_t> skipped_bytes;

void
OnArrival(Ptr<const QueueDiscItem> item)
{
    if (!options["log"].empty())
    {
        uint32_t flow = item->Hash(std::stoul(options["seed"])) % FLOWS;
        places[item] = arrivals.size();
        arrivals.push_back({Simulator::Now().GetNanoSeconds(), flow, item->GetSize(), -1});
    }
}

void
OnRefused(Ptr<const QueueDiscItem> item, const char*)
{
    OnArrival(item);
}

void
OnDequeue(Ptr<const QueueDiscItem> item)
{
    taken = item;
}

void
OnServiceBegin(Ptr<const Packet>)
{
    gate->Stop();
    // The last packet that left the discipline is the one that is served.
    Time now = Simulator::Now();
    if (now >= skip)
    {
        delays_ns.push_back((now - taken->GetTimeStamp()).GetNanoSeconds());
    }
    if (auto place = places.find(taken); place != places.end())
    {
        arrivals[place->second].begin_ns = now.GetNanoSeconds();
    }
}

void
OnServiceEnd(Ptr<const Packet>)
{
    // Once the device has finished with the packet.
    Simulator::ScheduleNow(&NetDeviceQueue::Wake, gate);
}

void
OnSkipped()
{
    for (const auto& sink : sinks)
    {
        skipped_bytes.push_back(sink->GetTotalRx());
    }
}

bool
Parse(int count, char** words)
{
    for (int index = 1; index + 1 < count; index += 2)
    {
        std::string key = words[index];
        std::string value = words[index + 1];
        if (key == "set")
        {
            auto equals = value.find('=');
            Config::SetDefault(value.substr(0, equals), StringValue(value.substr(equals + 1)));
        }
        else if (options.count(key) == 0)
        {
            std::cerr << "ns3-queues.cc: found '" << key << "', expected one of set";
            for (const auto& known : options)
            {
                std::cerr << ' ' << known.first;
            }
            std::cerr << '\n';
            return false;
        }
        else
        {
            options[key] = value;
        }
    }
    return true;
}

} // namespace

int
main(int count, char** words)
{
    if (!Parse(count, words))
    {
        return 2;
    }
    uint32_t segment = std::stoul(options["size"]) - PPP - HEADERS - TIMESTAMP;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + options["variant"]));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(std::stoul(options["iw"])));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(std::stoul(options["delayed_ack"])));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", StringValue(options["delayed_ack_timer"]));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(16 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(16 << 20));
    RngSeedManager::SetRun(std::stoul(options["seed"]));
    skip = Seconds(std::stod(options["skip"]));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(options["rate"]));
    link.SetChannelAttribute("Delay", StringValue(options["delay"]));
    NetDeviceContainer devices = link.Install(nodes);
    // The return link is fast.
    devices.Get(1)->SetAttribute("DataRate", StringValue("1Gbps"));
    InternetStackHelper stack;
    stack.Install(nodes);
    TrafficControlHelper control;
    std::string discipline = "ns3::" + options["queue"] + "QueueDisc";
    control.SetRootQueueDisc(discipline, "MaxSize", StringValue(options["buffer"] + "p"));
    Ptr<QueueDisc> queue = control.Install(devices.Get(0)).Get(0);
    if (auto fair = DynamicCast<FqCoDelQueueDisc>(queue))
    {
        fair->SetQuantum(std::stoul(options["quantum"]));
        fair->SetAttribute("Flows", UintegerValue(FLOWS));
        fair->SetAttribute("Perturbation", UintegerValue(std::stoul(options["seed"])));
    }
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    // The way back has no discipline.
    TrafficControlHelper none;
    none.Uninstall(devices.Get(1));

    gate = devices.Get(0)->GetObject<NetDeviceQueueInterface>()->GetTxQueue(0);
    queue->TraceConnectWithoutContext("Enqueue", MakeCallback(&OnArrival));
    queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&OnRefused));
    queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&OnDequeue));
    devices.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&OnServiceBegin));
    devices.Get(0)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&OnServiceEnd));

    std::vector<Ptr<Node>> hosts;
    std::istringstream delays(options["access"]);
    for (std::string delay; std::getline(delays, delay, ',');)
    {
        auto host = CreateObject<Node>();
        stack.Install(host);
        link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
        link.SetChannelAttribute("Delay", StringValue(delay));
        addresses.NewNetwork();
        addresses.Assign(link.Install(host, nodes.Get(0)));
        hosts.push_back(host);
    }
    bool has_access = !hosts.empty();
    if (has_access)
    {
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }
    else
    {
        hosts.assign(std::stoul(options["flows"]), nodes.Get(0));
    }
    auto start = CreateObject<UniformRandomVariable>();
    for (size_t flow = 0; flow < hosts.size(); ++flow)
    {
        uint16_t port = PORT + flow;
        PacketSinkHelper receiving("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer receivers = receiving.Install(nodes.Get(1));
        receivers.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(receivers.Get(0)));
        BulkSendHelper sending("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), port));
        sending.SetAttribute("MaxBytes", UintegerValue(0));
        sending.SetAttribute("SendSize", UintegerValue(segment));
        sending.Install(hosts[flow]).Start(Seconds(start->GetValue(0, std::stod(options["start"]))));
    }
    Simulator::Schedule(skip, &OnSkipped);
    Simulator::Stop(Seconds(std::stod(options["duration"])));
    Simulator::Run();

    if (!options["log"].empty())
    {
        std::ofstream log(options["log"]);
        log << "at_ns,flow,bytes,begin_ns\n";
        for (const Arrival& one : arrivals)
        {
            log << one.at_ns << ',' << one.flow << ',' << one.bytes << ',';
            one.begin_ns < 0 ? log << '\n' : log << one.begin_ns << '\n';
        }
    }
    std::sort(delays_ns.begin(), delays_ns.end());
    double sum_ns = 0;
    for (int64_t delay_ns : delays_ns)
    {
        sum_ns += delay_ns;
    }
    // The items that are left end before the simulator does.
    places.clear();
    taken = nullptr;
    std::vector<uint64_t> packets;
    for (size_t flow = 0; flow < sinks.size(); ++flow)
    {
        packets.push_back((sinks[flow]->GetTotalRx() - skipped_bytes[flow]) / segment);
    }
    std::cout << std::accumulate(packets.begin(), packets.end(), uint64_t{0}) << ' ' << sum_ns / delays_ns.size() << ' '
              << delays_ns.at(delays_ns.size() * 95 / 100);
    for (uint64_t own : packets)
    {
        has_access ? std::cout << ' ' << own : std::cout;
    }
    std::cout << '\n';
    Simulator::Destroy();
    return 0;
}
