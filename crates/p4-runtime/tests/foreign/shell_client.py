"""p4runtime-shell: what people type."""

import p4runtime_sh.shell as sh
from switch import ADDRESS, P4INFO, PROGRAM, frame, ipv4, packet, works

sh.setup(
    device_id=1,
    grpc_addr=ADDRESS,
    election_id=(0, 7),
    config=sh.FwdPipeConfig(P4INFO, PROGRAM),
    verbose=False,
)
works("pipeline")

station = sh.TableEntry("ingress.stations")(action="ingress.send")
station.match["hdr.ethernet.dst"] = "0a:00:00:00:00:02"
station.action["port"] = "2"
station.insert()
route = sh.TableEntry("ingress.routes")(action="ingress.counted")
route.match["hdr.ipv4.dst"] = "10.0.0.0/8"
route.action["port"] = "3"
route.insert()
rule = sh.TableEntry("ingress.rules")(action="ingress.drop")
rule.match["hdr.ipv4.src"] = "1.0.0.0&&&255.0.0.0"
rule.match["hdr.ipv4.ttl"] = "3..5"
rule.match["hdr.ipv4.protocol"] = "17"
rule.priority = 9
rule.insert()
assert packet(1, frame(2, 1))[0][0] == 2
assert packet(1, ipv4(9, (2, 0, 0, 1), (10, 1, 1, 1)))[0][0] == 3
assert len(list(sh.TableEntry("ingress.rules").read())) == 1
works("entries of every match kind")

for number, port in ((1, "5"), (2, "6")):
    member = sh.ActionProfileMember("ingress.hops")(member_id=number, action="ingress.send")
    member.action["port"] = port
    member.insert()
group = sh.ActionProfileGroup("ingress.hops")(group_id=1)
group.add(1).add(2)
group.insert()
to = sh.TableEntry("ingress.groups")(group_id=1)
to.match["hdr.ethernet.dst"] = "0a:00:00:00:00:07"
to.insert()
assert {port for source in range(64) for port, _ in packet(1, frame(7, source))} == {5, 6}
works("members and groups")

cell = sh.CounterEntry("ingress.received")
cell.index = 1
assert next(iter(cell.read())).data.packet_count > 0
works("counters")

meter = sh.MeterEntry("ingress.rates")
meter.index = 1
meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 3, 4
meter.modify()
assert next(iter(meter.read())).pir == 3
works("meters")

many = sh.MulticastGroupEntry(3)
many.add(1, 1).add(2, 2)
many.insert()
clone = sh.CloneSessionEntry(4)
clone.add(8, 1)
clone.insert()
works("multicast groups and clone sessions")

up = sh.TableEntry("ingress.stations")(action="ingress.to_controller")
up.match["hdr.ethernet.dst"] = "0a:00:00:00:00:09"
up.insert()
arrived = []
packet(300, frame(9, 1))
sh.PacketIn().sniff(lambda one: arrived.append(one), timeout=2)
assert [one.packet.payload for one in arrived] == [frame(9, 1)], arrived
out = sh.PacketOut()
out.payload = frame(9, 1)
out.metadata["egress_port"] = "7"
out.metadata["padding"] = "0"
out.send()
works("packets")
sh.teardown()
