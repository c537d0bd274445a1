"""aiop4: digests, entries and packets in asyncio."""

import asyncio

import p4.v1.p4runtime_pb2 as p4rt
from aiop4 import Client
from switch import ADDRESS, P4INFO, PROGRAM, frame, packet, works


async def main():
    client = Client(host=ADDRESS, device_id=1, election_id=p4rt.Uint128(high=1, low=0))
    await client.become_primary_or_raise(timeout=30)
    works("mastership")
    assert (await client.get_capabilities()).p4runtime_api_version == "1.5.0"
    await client.set_fwd_pipeline_from_file(P4INFO, PROGRAM)
    works("pipeline")
    match = {"hdr.ethernet.dst": p4rt.FieldMatch.Exact(value=bytes([10, 0, 0, 0, 0, 2]))}
    await client.insert_entity(client.new_table_entry("ingress.stations", match, "ingress.send", [b"\x02"]))
    assert packet(1, frame(2, 1))[0][0] == 2
    works("entries")
    await client.insert_multicast_group(3, [1, 2])
    works("multicast groups with ports in the old field")
    probes = client.p4info.value_sets[0].preamble.id
    member = p4rt.ValueSetMember(match=[p4rt.FieldMatch(field_id=1, exact=p4rt.FieldMatch.Exact(value=b"\x88\xb5"))])
    await client.modify_entity(p4rt.Entity(value_set_entry=p4rt.ValueSetEntry(value_set_id=probes, members=[member])))
    await client.enable_digest(client.p4info.digests[0].preamble.id)
    packet(5, frame(9, 4, 0x88B5))
    message = await asyncio.wait_for(client.queue.get(), 30)
    await client.ack_digest_list(message.digest)
    assert message.digest.data[0].struct.members[1].bitstring == b"\x05", message
    works("digests")
    match = {"hdr.ethernet.dst": p4rt.FieldMatch.Exact(value=bytes([10, 0, 0, 0, 0, 9]))}
    await client.insert_entity(client.new_table_entry("ingress.stations", match, "ingress.to_controller"))
    packet(300, frame(9, 1))
    message = await asyncio.wait_for(client.queue.get(), 30)
    assert message.packet.payload == frame(9, 1), message
    works("packet-in")


asyncio.run(main())
