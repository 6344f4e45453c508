// One run of ns-3.37, settings as KEY VALUE pairs:
//   ns3 variant TcpCubic rate 2.34Mbps delay 250ms size 1500 buffer 100 loss 1e-3 seed 1 duration 400
// Prints one line: packets delivered in order, data packets sent, of these again, and timeouts.
//
// variant   a congestion control (TcpNewReno, TcpCubic, ...); TcpWestwood-PROTOCOL-FILTER sets those two;
//           NAME/nosack does without SACK; NAME/slowsyn lets the handshake take longer than any data packet,
//           as Hybla needs (README)
// size      bytes of an IP packet with the two of PPP; buffer: packets, the one in service not included
// loss      of a packet behind the queue; drops: a file with the ordinals (from 0) of packets to lose there instead
// set       an attribute, such as ns3::TcpSocketBase::LimitedTransmit=false; may stand more than once
// trace     a file: at every change of the window, time, cwnd, ssthresh, packets delivered in order

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <fstream>
#include <iostream>
#include <list>
#include <map>
#include <string>

using namespace ns3;

namespace
{

constexpr uint32_t PPP = 2;
constexpr uint32_t HEADERS = 40;
constexpr uint32_t TIMESTAMP = 12;

std::map<std::string, std::string> options = {
    {"variant", "TcpNewReno"},
    {"rate", "2.34Mbps"},
    {"delay", "250ms"},
    {"size", "1500"},
    {"buffer", "100"},
    {"window", ""},
    {"iw", "2"},
    {"delayed_ack", "1"},
    {"loss", "0"},
    {"drops", ""},
    {"seed", "1"},
    {"duration", "400"},
    {"trace", ""},
};

// Counts of one flow.
struct Tally
{
    uint64_t sent = 0;
    uint64_t again = 0;
    uint64_t timeouts = 0;
    SequenceNumber32 highest{0};
    uint32_t ssthresh = 0;
    uint32_t segment = 0;
    std::ofstream trace;
};

Tally tally;
Ptr<PacketSink> sink;
Ptr<PointToPointNetDevice> device;

void
OnSent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    if (packet->GetSize() == 0)
    {
        return;
    }
    ++tally.sent;
    if (header.GetSequenceNumber() < tally.highest)
    {
        ++tally.again;
    }
    else
    {
        tally.highest = header.GetSequenceNumber() + packet->GetSize();
    }
}

void
OnThreshold(uint32_t, uint32_t now)
{
    tally.ssthresh = now;
}

void
OnWindow(uint32_t, uint32_t now)
{
    double segment = tally.segment;
    tally.trace << Simulator::Now().GetSeconds() << ',' << now / segment << ',' << tally.ssthresh / segment << ','
                << sink->GetTotalRx() / tally.segment << '\n';
}

void
OnCongestionState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
{
    tally.timeouts += now == TcpSocketState::CA_LOSS;
}

void
OnState(TcpSocket::TcpStates_t, TcpSocket::TcpStates_t now)
{
    if (now == TcpSocket::ESTABLISHED)
    {
        device->SetDataRate(DataRate(options["rate"]));
    }
}

void
Watch(Ptr<BulkSendApplication> application, bool slow)
{
    Ptr<Socket> socket = application->GetSocket();
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&OnSent));
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&OnCongestionState));
    if (tally.trace.is_open())
    {
        socket->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&OnThreshold));
        socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&OnWindow));
    }
    if (slow)
    {
        socket->TraceConnectWithoutContext("State", MakeCallback(&OnState));
    }
}

// The name that ns-3 knows, once what follows it is taken care of.
std::string
Variant(std::string name, bool& slow)
{
    auto slash = name.find('/');
    std::string how = slash == std::string::npos ? "" : name.substr(slash);
    slow = how == "/slowsyn";
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(how != "/nosack"));
    name = name.substr(0, slash);
    auto dash = name.find('-');
    if (dash != std::string::npos)
    {
        auto second = name.find('-', dash + 1);
        Config::SetDefault("ns3::TcpWestwood::ProtocolType", StringValue(name.substr(dash + 1, second - dash - 1)));
        Config::SetDefault("ns3::TcpWestwood::FilterType", StringValue(name.substr(second + 1)));
    }
    return name.substr(0, dash);
}

Ptr<ErrorModel>
Errors()
{
    if (!options["drops"].empty())
    {
        std::ifstream file(options["drops"]);
        std::list<uint32_t> ordinals;
        for (uint32_t ordinal; file >> ordinal;)
        {
            ordinals.push_back(ordinal);
        }
        auto errors = CreateObject<ReceiveListErrorModel>();
        errors->SetList(ordinals);
        return errors;
    }
    auto errors = CreateObject<RateErrorModel>();
    errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    errors->SetRate(std::stod(options["loss"]));
    return errors;
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
            std::cerr << "ns3.cc: found '" << key << "', expected one of set";
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
    bool slow = false;
    std::string variant = Variant(options["variant"], slow);
    tally.segment = std::stoul(options["size"]) - PPP - HEADERS - TIMESTAMP;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + variant));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(tally.segment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(std::stoul(options["iw"])));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(std::stoul(options["delayed_ack"])));
    uint32_t room = options["window"].empty() ? 16 << 20 : std::stoul(options["window"]) * tally.segment;
    // A limit is the sender's buffer: the receiver's window is rounded by its scale, and a part of a segment at its
    // edge ends ns-3 with a segmentation fault.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(room));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(16 << 20));
    RngSeedManager::SetRun(std::stoul(options["seed"]));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(options["rate"]));
    link.SetChannelAttribute("Delay", StringValue(options["delay"]));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(options["buffer"] + "p"));
    NetDeviceContainer devices = link.Install(nodes);
    device = DynamicCast<PointToPointNetDevice>(devices.Get(0));
    // The return link is fast.
    devices.Get(1)->SetAttribute("DataRate", StringValue("100Mbps"));
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(Errors()));
    if (slow)
    {
        // The 58 bytes of a SYN take 50 ms longer than a data packet will.
        double data = std::stod(options["size"]) * 8 / DataRate(options["rate"]).GetBitRate();
        device->SetDataRate(DataRate(static_cast<uint64_t>(58 * 8 / (data + 0.05))));
    }

    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    // No queueing discipline in front of the device's queue.
    TrafficControlHelper none;
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    none.Uninstall(devices);

    constexpr uint16_t PORT = 9;
    PacketSinkHelper receiving("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
    ApplicationContainer receivers = receiving.Install(nodes.Get(1));
    receivers.Start(Seconds(0));
    sink = DynamicCast<PacketSink>(receivers.Get(0));
    BulkSendHelper sending("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), PORT));
    sending.SetAttribute("MaxBytes", UintegerValue(0));
    sending.SetAttribute("SendSize", UintegerValue(tally.segment));
    ApplicationContainer senders = sending.Install(nodes.Get(0));
    senders.Start(Seconds(0));
    if (!options["trace"].empty())
    {
        tally.trace.open(options["trace"]);
        tally.trace << "time_s,cwnd,ssthresh,delivered\n";
    }
    Simulator::Schedule(NanoSeconds(1), &Watch, DynamicCast<BulkSendApplication>(senders.Get(0)), slow);

    Simulator::Stop(Seconds(std::stod(options["duration"])));
    Simulator::Run();
    std::cout << sink->GetTotalRx() / tally.segment << ' ' << tally.sent << ' ' << tally.again << ' ' << tally.timeouts
              << '\n';
    Simulator::Destroy();
    return 0;
}
