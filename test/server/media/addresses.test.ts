import type { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { allowsPublic, isPublic } from '../../../src/server/media/addresses.ts';

describe('addresses of hosts', () => {
  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '169.253.0.1',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001::200e',
    '::ffff:8.8.8.8',
    '::ffff:808:808',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
  ])('%s is public', (address) => expect(isPublic(address)).toBe(true));

  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.192',
    '192.168.1.1',
    '198.18.0.1',
    '203.0.113.9',
    '224.0.0.1',
    '239.255.255.250',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::ffff:169.254.169.254',
    '64:ff9b::168.63.129.16',
    '0:0:0:0:0:ffff:c0a8:101',
    '64:ff9b::7f00:1',
    '64:ff9b::10.1.2.3',
    '64:ff9b:1::8.8.8.8',
    '2002:7f00:1::1',
    '2002:c0a8:101::',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2001:db8::1',
    '3fff::1',
    '5f00::1',
    '100::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'example.org',
    '',
  ])('%s is not', (address) => expect(isPublic(address)).toBe(false));
});

it('a public address of this machine is not allowed, in whatever form', () => {
  const isAllowed = allowsPublic({
    eth0: [
      { address: '8.8.4.4', family: 'IPv4' },
      { address: '2606:4700::5', family: 'IPv6' },
      { address: '2002:808:808::5', family: 'IPv6' },
      { address: 'fe80::1%eth0', family: 'IPv6' },
    ] as NonNullable<ReturnType<typeof networkInterfaces>[string]>,
    lo: undefined,
  });
  const others = ['8.8.8.8', '2606:4700::6', '64:ff9b::8.8.8.8', '2002:808:808::6'];
  expect(others.filter((address) => !isAllowed(address))).toEqual([]);
  const own = ['8.8.4.4', '::ffff:8.8.4.4', '2606:4700:0:0::5', '64:ff9b::8.8.4.4', '2002:808:404::1'];
  expect([...own, '2002:808:808::5', '10.0.0.1'].filter(isAllowed)).toEqual([]);
});
