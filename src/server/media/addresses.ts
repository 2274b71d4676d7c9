// Which network addresses requests may name: public unicast ones. Everything else is refused, above all this machine, private networks and
// the metadata services of clouds, also where an IPv6 address contains the IPv4 address.

import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** IPv4 networks that are not public: IANA's registry of special-purpose addresses, multicast and reserved ones, and a cloud's service. */
const CLOSED: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32], // Azure's service for the machines on a host
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

const closed = new BlockList();
for (const [network, prefix] of CLOSED) closed.addSubnet(network, prefix, 'ipv4');

/** Networks within 2000::/3 that are not public: protocol assignments with Teredo, and documentation. */
const CLOSED_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
];

const openIpv6 = new BlockList();
openIpv6.addSubnet('2000::', 3, 'ipv6');
const closedIpv6 = new BlockList();
for (const [network, prefix] of CLOSED_IPV6) closedIpv6.addSubnet(network, prefix, 'ipv6');

/** Networks whose addresses contain an IPv4 address, and the group where it begins. */
const TRANSLATED: readonly (readonly [network: string, prefix: number, group: number])[] = [
  ['::ffff:0:0', 96, 6],
  ['64:ff9b::', 96, 6],
  ['2002::', 16, 1],
];

const translated = TRANSLATED.map(([network, prefix, group]) => {
  const list = new BlockList();
  list.addSubnet(network, prefix, 'ipv6');
  return { list, group };
});

/** Whether an IP address belongs to the public internet. */
export function isPublic(address: string): boolean {
  const ipv4 = ipv4Of(address);
  if (ipv4 !== null) return !closed.check(ipv4, 'ipv4');
  // An address with a zone is one of a local network.
  if (!isIPv6(address) || address.includes('%')) return false;
  return openIpv6.check(address, 'ipv6') && !closedIpv6.check(address, 'ipv6');
}

/** The address itself if it is of IPv4, or the one that it contains; null: it contains none. */
function ipv4Of(address: string): string | null {
  if (isIPv4(address)) return address;
  if (!isIPv6(address) || address.includes('%')) return null;
  const within = translated.find(({ list }) => list.check(address, 'ipv6'));
  if (!within) return null;
  const [high = 0, low = 0] = groupsOf(address).slice(within.group);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/**
 * A test for addresses that requests may name: public ones, without those of this machine, whose services a firewall may protect from
 * others only.
 */
export function allowsPublic(interfaces = networkInterfaces()): (address: string) => boolean {
  const own = new BlockList();
  for (const { address, family } of Object.values(interfaces).flatMap((found) => found ?? []))
    own.addAddress(address.split('%')[0]!, family === 'IPv6' ? 'ipv6' : 'ipv4');
  return (address) => {
    if (!isPublic(address)) return false;
    const ipv4 = ipv4Of(address);
    const isOwn = own.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
    return !isOwn && (ipv4 === null || !own.check(ipv4, 'ipv4'));
  };
}

/** The eight numbers of an IPv6 address; a URL writes its last part in hexadecimal too. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const parts = (text = ''): number[] =>
    text === '' ? [] : text.split(':').map((part) => parseInt(part, 16));
  const [before, after] = [parts(head), parts(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}
