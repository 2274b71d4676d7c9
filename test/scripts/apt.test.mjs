// Reading apt's mirrors: both file formats that a system may use.

import { expect, it } from 'vitest';
import { parseSources } from '../../scripts/setup/apt.mjs';

it('the reader of apt sources reads one-line sources', () => {
  const text = [
    '# deb http://commented.example/debian bookworm main',
    'deb http://mirror.example/debian bookworm main contrib',
    'deb [arch=amd64 signed-by=/usr/share/keyrings/k.gpg] https://mirror.example/ubuntu noble-updates universe # why',
    'deb-src http://mirror.example/debian bookworm main',
    'deb cdrom:[Debian]/ bookworm main',
  ].join('\n');
  expect(parseSources(text, false)).toEqual([
    {
      uris: ['http://mirror.example/debian'],
      suites: ['bookworm'],
      components: ['main', 'contrib'],
      signedBy: null,
    },
    {
      uris: ['https://mirror.example/ubuntu'],
      suites: ['noble-updates'],
      components: ['universe'],
      signedBy: '/usr/share/keyrings/k.gpg',
    },
  ]);
});

it('the reader of apt sources reads stanzas, with comments inside, disabled entries and a key written out', () => {
  const text = [
    'Types: deb deb-src',
    '# snapshot',
    'URIs: http://a.example/debian http://b.example/debian',
    'Suites: trixie trixie-updates',
    'Components: main',
    'Signed-By:',
    ' -----BEGIN PGP PUBLIC KEY BLOCK-----',
    ' .',
    ' abc',
    '',
    'Enabled: no',
    'Types: deb',
    'URIs: http://c.example/',
    'Suites: trixie',
    'Components: main',
    '',
  ].join('\n');
  expect(parseSources(text, true)).toEqual([
    {
      uris: ['http://a.example/debian', 'http://b.example/debian'],
      suites: ['trixie', 'trixie-updates'],
      components: ['main'],
      signedBy: '-----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc',
    },
  ]);
});
