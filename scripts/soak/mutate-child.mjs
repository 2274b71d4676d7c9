// Opens checkpoints and computes a little with each, for mutate-lane: one job a message, one reply a job. A process of its own, since
// a damaged checkpoint may end or hang it.

import { join } from 'node:path';
import { EngineError, openEmbeddingModel, openImageModel, openTextModel } from '../../dist/index.js';

const PROMPT = 'Hello there, 12 cats';
/** A text on which expressions that backtrack take exponential time. */
const AWKWARD = `${'a'.repeat(40)}!`;
const MESSAGES = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: PROMPT },
];
const BUDGET = 2 ** 29;

process.on('message', (job) => void answer(job));

async function answer({ kind, path, adapter, size, quantization, options: more = {}, request = {} }) {
  const options = { model: path, inline: true, memoryBudget: BUDGET, quantization, ...within(path, more) };
  const result = await attempt(() => COMPUTE[kind]({ options, adapter, size, request }));
  process.send({ ...result, rss: process.memoryUsage.rss() });
}

process.on('disconnect', () => process.exit());

/** Options whose paths that begin with @/ are those of the mutant's folder. */
function within(folder, value) {
  if (typeof value === 'string') return value.startsWith('@/') ? join(folder, value.slice(2)) : value;
  if (Array.isArray(value)) return value.map((item) => within(folder, item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, within(folder, inner)]));
}

const COMPUTE = { text: computeText, embedding: computeEmbedding, image: computeImage };

/** The value, or the error as data. `isOurs`: thrown on purpose. */
async function attempt(run) {
  try {
    return { output: await run() };
  } catch (error) {
    const isOurs = error instanceof EngineError;
    const message = isOurs ? error.message : String(error?.stack ?? error);
    return { error: { isOurs, code: error?.code ?? null, message: message.slice(0, 5000) } };
  }
}

async function computeText({ options, adapter }) {
  const notes = [];
  const opening = {
    ...options,
    contextLength: 128,
    maxRunningRequests: 1,
    ...(adapter && { loraPaths: [`a=${adapter}`] }),
  };
  const model = await openTextModel(opening, ({ type, message }) => type === 'note' && notes.push(message));
  const ask = { prompt: { text: PROMPT }, ...(adapter && { lora: 'a' }) };
  try {
    return {
      notes,
      greedy: await collectText(model, { ...ask, temperature: 0, maxTokens: 8, logprobs: 1 }),
      sampled: await collectText(model, { ...ask, seed: 1, maxTokens: 6 }),
      sampling: { defaults: model.info.sampling },
      awkward: await model.tokenize(AWKWARD),
      chat: await attempt(() => model.renderPrompt({ messages: MESSAGES })),
    };
  } finally {
    await model.close();
  }
}

async function collectText(model, request) {
  const ids = [];
  const numbers = [];
  let text = '';
  for await (const event of model.generate(request)) {
    if (event.text) text += event.text;
    if (event.ids) ids.push(...event.ids);
    if (event.logprobs) numbers.push(...event.logprobs.map(({ logprob }) => logprob));
  }
  return { ids, text, numbers };
}

async function computeEmbedding({ options }) {
  const model = await openEmbeddingModel(options);
  try {
    const vectors = [];
    for await (const event of model.generate({ inputs: [PROMPT, AWKWARD] }))
      if (event.type === 'embedding') vectors[event.index] = [...event.values];
    return { vectors: { numbers: vectors.flat() } };
  } finally {
    await model.close();
  }
}

/** An image of stripes where a request is to have one: for the first and last frame, for an IP-Adapter, and for a ControlNet. */
const STRIPES = { width: 32, height: 32, data: Uint8Array.from({ length: 3072 }, (_, i) => (i % 7) * 36) };

async function computeImage({ options, size, request: { images, ipAdapterImage, controlImages, ...more } }) {
  const notes = [];
  const onNote = ({ type, message }) => type === 'note' && notes.push(message);
  const model = await openImageModel(options, onNote);
  try {
    const pixels = [];
    const request = {
      prompt: `a red balloon ${AWKWARD}`,
      ...{ width: size, height: size, steps: 2, guidance: 4, seed: 1 },
      ...(images && { image: STRIPES, lastImage: STRIPES }),
      ...(ipAdapterImage && { ipAdapterImage: STRIPES }),
      ...(controlImages && { controlImages: [STRIPES] }),
      ...more,
    };
    for await (const event of model.generate(request)) {
      onNote(event);
      if (event.type === 'image') pixels.push(...event.image.data);
    }
    return { notes, image: { numbers: pixels } };
  } finally {
    await model.close();
  }
}
