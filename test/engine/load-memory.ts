// Opens a model in this process and prints what that cost: argv is the folder. On a software adapter the device's own bytes
// are resident memory as well, so they are told apart.

import { readFileSync } from 'node:fs';
import { nodePlatform } from '../../src/host/node/platform.ts';
import { TEXT } from '../../src/host/kinds/text.ts';
import { openInline } from '../../src/host/open.ts';
import { throttlePolling } from '../../src/gpu/polling.ts';

export interface MemoryOfLoading {
  /** Bytes that were resident before the model was opened, and at the peak. */
  before: number;
  peak: number;
  /** Bytes on the device. */
  device: number;
  tokens: number[];
}

const MiB = 2 ** 20;
const status = (name: string): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024;

throttlePolling();
const before = status('VmRSS');
const model = await openInline(TEXT, nodePlatform, {
  model: process.argv[2]!,
  contextLength: 256,
  memoryBudget: 1500 * MiB,
});
const { weights, kv, arena } = model.info.memory;
const peak = status('VmHWM');
const tokens: number[] = [];
const last = model.info.vocabSize - 1;
const request = { prompt: { ids: [0, last, 5, last - 1] }, maxTokens: 4, temperature: 0, ignoreEos: true };
for await (const event of model.generate(request)) if (event.type === 'delta') tokens.push(...event.ids);
await model.close();
const result: MemoryOfLoading = { before, peak, device: weights + kv + arena, tokens };
console.log(JSON.stringify(result));
process.exit();
