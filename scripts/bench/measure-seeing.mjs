// Questions about pictures, in a process of its own; prints JSON. Each time is that of the first token, of the fastest of some repetitions.
//   node scripts/bench/measure-seeing.mjs FOLDER

import { openDevice } from '../../dist/gpu/node.js';
import { openTextModel } from '../../dist/index.js';
import { now } from './cache.mjs';
import { measureCeilings } from './ceilings.mjs';
import { promptWeights, SIDE } from './seeing.mjs';

const REPEATS = 3;
const QUESTION_TOKENS = 64;

const [folder] = process.argv.slice(2);
const model = await openTextModel({ model: folder, quantization: 'int8', inline: true });

/** A picture of noise in large cells, another one for each seed. */
function pictureOf(seed) {
  const data = new Uint8Array(3 * SIDE * SIDE);
  for (let i = 0; i < data.length; i++) {
    const [x, y] = [Math.floor(i / 3) % SIDE, Math.floor(i / 3 / SIDE)];
    data[i] = Math.imul((x >> 5) + 40 * (y >> 5) + 2000 * seed + 7 * (i % 3), 2654435761) >>> 24;
  }
  return { width: SIDE, height: SIDE, data };
}

/** A text of that many tokens, as the tokenizer has one for each byte. */
function textOf(count, seed) {
  return Array.from({ length: count }, (_, i) => 'abcdefghijklmnop'[(i * seed + (i >> 3)) % 16]).join('');
}

/** Milliseconds until the first token of the reply to a message, and the tokens of the prompt. */
async function ask(content) {
  const begun = now();
  let first = null;
  let tokens = 0;
  const request = {
    prompt: { messages: [{ role: 'user', content }] },
    maxTokens: 1,
    ignoreEos: true,
    temperature: 0,
  };
  for await (const event of model.generate(request)) {
    if (event.type === 'accepted') tokens = event.promptTokens;
    if (event.type !== 'delta') continue;
    const at = now();
    first ??= { wall: at.wall - begun.wall, quiet: at.quiet - begun.quiet };
  }
  return { ...first, tokens };
}

const parts = (image, text) => [
  { type: 'image', image },
  { type: 'text', text },
];
const fastest = (times) => ({
  wall: Math.min(...times.map(({ wall }) => wall)),
  quiet: Math.min(...times.map(({ quiet }) => quiet)),
});

const { tokens } = await ask(parts(pictureOf(0), textOf(QUESTION_TOKENS, 1)));
await ask(textOf(tokens, 3));
const times = { picture: [], text: [], second: [], conversation: [], short: [] };
for (let i = 1; i <= REPEATS; i++) {
  const picture = pictureOf(i);
  const before = textOf(tokens - QUESTION_TOKENS, 5 + 2 * i);
  times.picture.push(await ask(parts(picture, textOf(QUESTION_TOKENS, 5))));
  times.text.push(await ask(before + textOf(QUESTION_TOKENS, 5)));
  times.second.push(await ask(parts(picture, textOf(QUESTION_TOKENS, 7))));
  times.conversation.push(await ask(before + textOf(QUESTION_TOKENS, 7)));
  times.short.push(await ask(textOf(QUESTION_TOKENS, 11 + 2 * i)));
}
const { memory, adapter } = model.info;
await model.close();
const device = await openDevice();
const ceilings = await measureCeilings(device.gpu, device.summary.software);
device.destroy();
const best = Object.fromEntries(Object.entries(times).map(([name, all]) => [name, fastest(all)]));
const result = { ...best, tokens, parameters: promptWeights(), memory, adapter, ceilings };
process.stdout.write(JSON.stringify(result), () => process.exit());
