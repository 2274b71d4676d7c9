// Formats, each by texts that are and are not in it.

import { expect, test } from 'vitest';
import { accepts } from '../../../src/grammar/automata/dfa.ts';
import { limits } from '../../../src/grammar/automata/dfa.ts';
import { formatDfa } from '../../../src/grammar/schema/format.ts';
import { pick, random } from '../small-vocabulary.ts';

const CASES: Record<string, { yes: string[]; no: string[] }> = {
  date: {
    yes: ['2024-02-29', '2000-02-29', '1999-12-31', '2023-02-28'],
    no: ['2023-02-29', '1900-02-29', '2024-04-31', '2024-13-01', '2024-00-10', '24-01-01', '2024-1-01'],
  },
  time: {
    yes: ['08:30:06Z', '08:30:06.283185Z', '08:30:06+05:30', '23:59:60Z', '23:59:60.5+00:00'],
    no: ['08:30:06', '24:00:00Z', '08:60:00Z', '22:59:60Z', '08:30:06 PST', '08:30:06+24:00'],
  },
  'date-time': {
    yes: ['1963-06-19T08:30:06.283185Z', '1990-12-31T15:59:50.123-08:00', '1963-06-19t08:30:06z'],
    no: ['1963-06-19 08:30:06Z', '1990-02-31T15:59:59Z', '06/19/1963 08:30:06 PST', '2013-350T01:01:01'],
  },
  duration: {
    yes: ['P4DT12H30M5S', 'P4Y', 'PT0S', 'P1M', 'PT1M', 'P2W', 'P1Y2M', 'PT1H30M'],
    no: ['', 'P', 'P1YT', 'PT', '4DT12H', 'P1D2H', 'P2S', 'P1Y2W', 'P2D1Y', 'PT1H2S'],
  },
  email: {
    yes: ['joe.bloggs@example.com', 'te~st@example.com', 'joe@[127.0.0.1]', '"joe bloggs"@example.com'],
    no: ['2962', '.test@example.com', 'te..st@example.com', 'joe@', '@example.com', 'joe@-example.com'],
  },
  hostname: {
    yes: ['www.example.com', 'xn--4gbwdl.xn--wgbh1c', 'a', 'host-name', `${'a'.repeat(63)}.com`],
    no: ['', '-bad', 'bad-', 'not_a_host', `${'a'.repeat(64)}.com`, 'a..b', `${'abc.'.repeat(70)}d`],
  },
  ipv4: {
    yes: ['192.168.0.1', '0.0.0.0', '255.255.255.255'],
    no: ['127.0.0', '256.1.1.1', '01.1.1.1', '1.2.3.4.5'],
  },
  ipv6: {
    yes: [
      '::1',
      '::',
      '12345::'.slice(1),
      '1::',
      '::42:ff:1',
      'd6::',
      '1:2:3:4:5:6:7:8',
      '::ffff:192.168.0.1',
      '1::3:4:5:6:7:8',
    ],
    no: [
      '12345::',
      ':1',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '1::2::3',
      '::laptop',
      '1:2:3:4:5:6:7:8::',
      '::1%eth0',
    ],
  },
  ipvanyaddress: { yes: ['10.0.0.1', '::1'], no: ['10.0.0.1/8', '10.0.0', 'localhost', ''] },
  ipv4interface: { yes: ['10.0.0.1/8', '10.0.0.1', '1.2.3.4/32'], no: ['1.2.3.4/33', '1.2.3.4/', '::1'] },
  ipv6interface: { yes: ['::1/128', '2001:db8::/9', '::'], no: ['::1/129', '::1/01', '1.2.3.4/8'] },
  ipvanyinterface: { yes: ['10.0.0.1/8', '::1/64'], no: ['::1/', '10.0.0.1/8/8'] },
  uri: {
    yes: [
      'http://foo.bar/?baz=qux#quux',
      'urn:oasis:names:specification:docbook:dtd:xml:4.1.2',
      'mailto:a@b.c',
      'ldap://[2001:db8::7]/c=GB?o',
    ],
    no: [
      '//foo.bar/?baz',
      '/abc',
      '\\\\WINDOWS\\fileshare',
      'abc',
      'http:// shouldfail.com',
      'http://foo.bar/[1]',
      ':// should fail',
    ],
  },
  'uri-reference': {
    yes: ['/abc', '//foo.bar', '', '#frag', 'abc'],
    no: ['\\\\WINDOWS', '#frag\\ment', 'a b'],
  },
  iri: { yes: ['http://ƒøø.ßår/?∂éœ=πîx#πîüx'], no: ['/abc', 'âππ'] },
  'iri-reference': { yes: ['/âππ', 'âππ'], no: ['\\\\WINDOWS\\filëßåré'] },
  'uri-template': {
    yes: ['http://example.com/dictionary/{term:1}/{term}', '{?x,y*}', 'plain'],
    no: ['http://example.com/dictionary/{term:1}/{term', '{}', '{ a}'],
  },
  uuid: {
    yes: ['2EB8AA08-AA98-11EA-B4AA-73B441D16380', '00000000-0000-0000-0000-000000000000'],
    no: [
      '2eb8aa08-aa98-11ea-b4aa-73b441d1638',
      '2eb8aa08aa98-11ea-b4aa73b441d16380',
      '2eb8aa08-aa98-11ea-b4aa-73b441d1638x',
    ],
  },
  'json-pointer': { yes: ['', '/foo/0', '/a~1b', '/m~0n', '/'], no: ['a', '#/', '/foo~', '/~2'] },
  'relative-json-pointer': {
    yes: ['1', '0/foo/bar', '2#', '120/a'],
    no: ['/foo', '-1/a', '01/a', '0##', ''],
  },
};

test.each(Object.entries(CASES))('the format %s', (format, { yes, no }) => {
  const dfa = formatDfa(format, limits())!;
  for (const text of yes) expect(accepts(dfa, text), text).toBe(true);
  for (const text of no) expect(accepts(dfa, text), text).toBe(false);
});

test('an unknown format allows any string', () => {
  expect(formatDfa('colour', limits())).toBeNull();
  expect(formatDfa('toString', limits())).toBeNull();
});

test('patterns are regular expressions of JavaScript, with its flag u and without', () => {
  const regex = formatDfa('regex', limits())!;
  const yes = String.raw`([abc])+\s+$ ^[a-z0-9_-]{3,16}$ (?<=a)b|(?!c) a{2,5}? ^\d{4}-\d{2}(?:-\d{2})?$ [^\]]* [-a] é+ \p{Lu}\u00e9 (a|(b|(c))*)+ [!-~] c{10,20} \/[1-5]`;
  for (const text of yes.split(' ')) expect(accepts(regex, text), text).toBe(true);
  const no = String.raw`^(abc] a** [z-a] [5-1] a{5,2} a{20,10} \Z (?=a)* [\w-a] x{1 ] { } ( ) \ [a \p{Xx} \u12 (?a) (?<=a`;
  for (const text of no.split(' ')) expect(accepts(regex, text), text).toBe(false);
  const next = random(11);
  const parts = [
    ...'abz09-[](){},?*+|^$.:=!<'.split(''),
    '\\',
    '\\d',
    '\\b',
    '(?:',
    '[^',
    '{1,2}',
    'a-z',
    ']+',
  ];
  let taken = 0;
  for (let i = 0; i < 30_000; i++) {
    const text = Array.from({ length: 1 + Math.floor(7 * next()) }, () => pick(next, parts)).join('');
    if (!accepts(regex, text)) continue;
    taken++;
    expect(() => [new RegExp(text), new RegExp(text, 'u')], text).not.toThrow();
  }
  expect(taken).toBeGreaterThan(1000);
});
