// Settings of Voxtral Realtime's sounds that are refused.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readVoxtralRealtime } from '../../../src/models/audio/voxtral-realtime-config.ts';

const GOLDEN = new URL('../../golden/audio/voxtral-realtime/', import.meta.url);
const jsonOf = (file: string) =>
  JSON.parse(readFileSync(new URL(file, GOLDEN), 'utf8')) as Record<string, unknown>;

it('windows beyond those that are built, and delays and rates that differ between files, are refused', () => {
  const config = jsonOf('config.json');
  const stream = jsonOf('tekken.json')['audio'] as Record<string, unknown>;
  const read = (changes: object, streams: object = {}) => {
    const processors = {
      'processor_config.json': jsonOf('processor_config.json'),
      'tekken.json': { ...stream, ...streams },
    };
    return readVoxtralRealtime({ config: { ...config, ...changes }, processors, hidden: 48 });
  };
  expect(() => read({})).not.toThrow();
  const encoder = { ...(config['audio_config'] as object), sliding_window: 2 ** 20 };
  expect(() => read({ audio_config: encoder })).toThrow('sliding_window is 1048576, and up to 8192 rows');
  expect(() => read({ default_num_delay_tokens: 9 })).toThrow('transcription_delay_ms makes');
  expect(() => read({}, { frame_rate: 25 })).toThrow('frame_rate is 25, and a token is 0.08 s');
});
