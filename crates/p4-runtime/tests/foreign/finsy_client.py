"""finsy: everything that a controller does."""

import asyncio
from pathlib import Path

import finsy as fy
from google.protobuf.empty_pb2 import Empty
from finsy.p4entity import P4ValueSetMember
from switch import ADDRESS, P4INFO, PROGRAM, frame, ipv4, packet, works


def options(**more):
    return fy.SwitchOptions(p4info=Path(P4INFO), p4blob=Path(PROGRAM), **more)


def entry(table, match, action, **more):
    return fy.P4TableEntry(table, match=fy.P4TableMatch(match), action=action, **more)


def send(port):
    return fy.P4TableAction("ingress.send", port=port)


async def every(switch, entity):
    return [one async for one in switch.read(entity)]


async def entries(switch):
    await switch.write(
        [
            +entry("ingress.stations", {"hdr.ethernet.dst": "0a:00:00:00:00:02"}, send(2)),
            +entry("ingress.routes", {"hdr.ipv4.dst": "10.0.0.0/8"}, fy.P4TableAction("ingress.counted", port=3)),
            +entry(
                "ingress.rules",
                {"hdr.ipv4.src": "1.0.0.0/&255.0.0.0", "hdr.ipv4.ttl": "3...5", "hdr.ipv4.protocol": "17"},
                fy.P4TableAction("ingress.drop"),
                priority=9,
            ),
        ]
    )
    found = await every(switch, fy.P4TableEntry())
    assert len([one for one in found if not one.is_const]) == 3, found
    assert packet(1, frame(2, 1))[0][0] == 2
    assert packet(1, ipv4(9, (2, 0, 0, 1), (10, 1, 1, 1)))[0][0] == 3
    assert packet(1, ipv4(9, (1, 0, 0, 1), (10, 1, 1, 1), 4, 17)) == []
    works("entries of every match kind")
    try:
        await switch.write([+entry("ingress.stations", {"hdr.ethernet.dst": "0a:00:00:00:00:02"}, send(2))])
        raise AssertionError("an entry that exists was inserted")
    except fy.P4ClientError as error:
        assert error.details[0].canonical_code == fy.GRPCStatusCode.ALREADY_EXISTS, error
    works("errors for each update")


async def profiles(switch):
    member = lambda id, port: fy.P4ActionProfileMember("ingress.hops", member_id=id, action=send(port))
    await switch.insert([member(1, 5), member(2, 6)])
    group = fy.P4ActionProfileGroup(
        "ingress.hops",
        group_id=1,
        max_size=4,
        members=[fy.P4Member(1, weight=1), fy.P4Member(2, weight=2)],
    )
    await switch.insert([group])
    to = entry("ingress.groups", {"hdr.ethernet.dst": "0a:00:00:00:00:07"}, fy.P4IndirectAction(group_id=1))
    await switch.insert([to])
    found = await every(switch, fy.P4ActionProfileGroup())
    assert [(one.group_id, one.members) for one in found] == [(1, group.members)], found
    ports = {port for source in range(64) for port, _ in packet(1, frame(7, source))}
    assert ports == {5, 6}, ports
    works("members and groups")
    await switch.delete([to])
    await switch.delete([group])
    await switch.delete([member(1, 5), member(2, 6)])
    oneshot = fy.P4IndirectAction(action_set=[(1, send(5)), (1, send(6))])
    to = entry("ingress.groups", {"hdr.ethernet.dst": "0a:00:00:00:00:07"}, oneshot)
    await switch.insert([to])
    assert {port for source in range(64) for port, _ in packet(1, frame(7, source))} == {5, 6}
    await switch.delete([to])
    works("action sets")


async def arrays(switch):
    cells = await every(switch, fy.P4CounterEntry("ingress.received"))
    assert len(cells) == 512 and cells[1].packet_count > 0, cells[:3]
    direct = await every(switch, fy.P4DirectCounterEntry())
    assert sum(one.packet_count for one in direct) == 2, direct
    works("counters, direct ones of all tables too")
    config = fy.P4MeterConfig(cir=1, cburst=2, pir=3, pburst=4)
    await switch.write([fy.P4MeterEntry("ingress.rates", index=2, config=config)])
    assert (await every(switch, fy.P4MeterEntry("ingress.rates", index=2)))[0].config == config
    rule = {"hdr.ipv4.src": "9.0.0.0/&255.0.0.0"}
    metered = entry("ingress.rules", rule, fy.P4TableAction("ingress.metered", port=1), priority=5, meter_config=config)
    await switch.write([+metered])
    assert (await every(switch, fy.P4DirectMeterEntry()))[-1].config is not None
    works("meters")
    assert len(await every(switch, fy.P4RegisterEntry("ingress.last"))) == 8
    works("registers")
    await switch.write([+fy.P4MulticastGroupEntry(3, replicas=[1, 2]), +fy.P4CloneSessionEntry(4, replicas=[8])])
    assert len(await every(switch, fy.P4MulticastGroupEntry())) == 1
    works("multicast groups and clone sessions")


async def streams(switch):
    await switch.write([+entry("ingress.stations", {"hdr.ethernet.dst": "0a:00:00:00:00:09"}, fy.P4TableAction("ingress.to_controller"))])
    async with asyncio.timeout(30):
        packets = switch.read_packets()
        waiting = asyncio.create_task(anext(packets))
        await asyncio.sleep(0.1)
        packet(300, frame(9, 1))
        arrived = await waiting
    assert arrived["ingress_port"] == 300 and arrived.payload == frame(9, 1), arrived
    works("packet-in")
    await switch.write(fy.P4PacketOut(frame(9, 1), egress_port=7, padding=0))
    works("packet-out")
    await switch.write([fy.P4ValueSetEntry("parse.probes", members=[P4ValueSetMember(0x88B5)])])
    works("value sets")
    digest = fy.P4DigestEntry("station_t", max_list_size=1, max_timeout_ns=0, ack_timeout_ns=1_000_000_000)
    await switch.write([+digest])
    async with asyncio.timeout(30):
        digests = switch.read_digests("station_t")
        waiting = asyncio.create_task(anext(digests))
        await asyncio.sleep(0.1)
        packet(5, frame(9, 4, 0x88B5))
        learned = await waiting
    await switch.write(learned.ack())
    assert learned.data[0]["port"] == 5, learned
    works("digests")


async def controllers():
    async with fy.Switch("first", ADDRESS, options(initial_election_id=20)) as first:
        assert first.is_primary
        async with fy.Switch("other", ADDRESS, options(initial_election_id=5, role_name="other", role_config=Empty())) as other:
            assert other.is_primary and first.is_primary
            works("roles")
        async with fy.Switch("second", ADDRESS, options(initial_election_id=30)) as second:
            assert second.is_primary
            for _ in range(100):
                if not first.is_primary:
                    break
                await asyncio.sleep(0.1)
            assert not first.is_primary
            works("mastership by election id")
    async with fy.Switch("third", ADDRESS, options(initial_election_id=40)) as third:
        assert third.is_primary
        works("a controller that vanishes")


async def main():
    async with fy.Switch("sw", ADDRESS, options(p4force=True)) as switch:
        assert switch.is_primary
        assert str(switch.p4runtime_version).startswith("1.5"), switch.p4runtime_version
        works("pipeline")
        await entries(switch)
        await profiles(switch)
        await arrays(switch)
        await streams(switch)
        await switch.delete_all()
        left = await every(switch, fy.P4TableEntry())
        assert all(one.is_const for one in left), left
        works("delete all")
    await controllers()


asyncio.run(main())
