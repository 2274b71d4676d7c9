import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toMediaRules } from '../../../src/cli/serve/media-options.ts';

it('toMediaRules() gives the server the values of options, in its units', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-media-'));
  try {
    expect(
      toMediaRules({
        'max-media-bytes': 5,
        'media-timeout': 1.5,
        'allow-private-media': true,
        'allowed-media-path': folder,
        'limit-mm-data-per-request': { image: 4, audio: 0 },
      }),
    ).toEqual({
      maxMediaBytes: 5,
      mediaTimeout: 1500,
      allowPrivateMedia: true,
      allowedMediaPath: realpathSync(folder),
      limitMmDataPerRequest: { image: 4, audio: 0 },
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
  expect(toMediaRules({})).toEqual({});
});

it.each([[{ picture: 1 }], [{ image: -1 }], [{ image: 1.5 }], [{ image: '4' }]])(
  'toMediaRules() refuses the limits %j',
  (limits) => {
    expect(() => toMediaRules({ 'limit-mm-data-per-request': limits })).toThrow(
      `--limit-mm-data-per-request has ${JSON.stringify(limits)}`,
    );
  },
);

it('toMediaRules() refuses a folder that is not there', () => {
  expect(() => toMediaRules({ 'allowed-media-path': '/no/such/folder' })).toThrow(
    '--allowed-media-path /no/such/folder is not a folder',
  );
});
