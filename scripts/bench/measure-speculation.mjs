// What drafts are worth, in a process of its own; prints JSON.
//   node scripts/bench/measure-speculation.mjs FOLDER QUANTIZATION [--texts CASE,...]    by looking up
//   node scripts/bench/measure-speculation.mjs FOLDER QUANTIZATION --mtp SHARE           by the model's heads, of whose tokens a share counts as right
// Texts are recorded: a prompt and the reply that a model would give. The measured model's own tokens stand in their place: it drafts as many tokens
// as looking up in the recorded text proposes, and as many of them are its own as would have been right there. Runs with and without drafts take turns.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openDevice } from '../../dist/gpu/node.js';
import { throttlePolling } from '../../dist/gpu/polling.js';
import { ModelDrafter } from '../../dist/engine/text/speculation/drafts/model-drafter.js';
import { NgramDrafter } from '../../dist/engine/text/speculation/ngram-drafter.js';
import { StepCosts } from '../../dist/engine/text/speculation/step-costs.js';
import { openTextModel } from '../../dist/index.js';
import { now } from './cache.mjs';
import { measureCeilings } from './ceilings.mjs';

const [folder, quantization = 'none', ...rest] = process.argv.slice(2);
const only = rest[0] === '--texts' ? rest[1].split(',') : null;
const share = rest[0] === '--mtp' ? Number(rest[1]) : null;
const isShipped = folder.includes('svc-chat');
/** Runs of each kind, and most tokens of a reply: fewer of models that take long. */
const ROUNDS = isShipped ? 5 : 3;
const root = fileURLToPath(new URL('../..', import.meta.url));
/** Tokens of a prompt and of a reply that are measured. */
const PROMPT = 1200;
const REPLY = isShipped ? 512 : 200;

throttlePolling();
const lookUp = NgramDrafter.prototype.propose;
const guess = ModelDrafter.prototype.propose;
const costs = [];
const noted = StepCosts.prototype.note;
StepCosts.prototype.note = function note(rows, isDrafted, ms) {
  costs.push({ rows, isDrafted, ms });
  return noted.call(this, rows, isDrafted, ms);
};

const options = { model: folder, quantization, inline: true };
const plain = await openTextModel(options);
const drafting = await openTextModel({ ...options, speculativeAlgorithm: share === null ? 'ngram' : 'mtp' });
const words = await openTextModel({
  model: fileURLToPath(new URL('../../models/svc-chat-mini', import.meta.url)),
});
const texts = {};
for (const [name, { prompt, reply }] of Object.entries(recorded())) {
  if (only && !only.includes(name)) continue;
  texts[name] = {
    prompt: (await words.tokenize(prompt, { addSpecialTokens: false })).slice(-PROMPT),
    reply: (await words.tokenize(reply, { addSpecialTokens: false })).slice(0, REPLY),
  };
}
await words.close();

const result = { texts: {}, adapter: plain.info.adapter };
for (const [name, text] of Object.entries(texts)) result.texts[name] = await measure(text);
result.steps = stepTimes();
await plain.close();
await drafting.close();
const device = await openDevice();
result.ceilings = await measureCeilings(device.gpu, device.summary.software);
process.stdout.write(JSON.stringify(result), () => process.exit());

/** Runs in turns, and the counts of drafted tokens. */
async function measure({ prompt, reply }) {
  const vocabulary = plain.info.vocabSize;
  const ids = prompt.map((id) => id % vocabulary);
  const truth = (await run(plain, ids, reply.length)).ids;
  const replay = new NgramDrafter();
  NgramDrafter.prototype.propose = (sequence, most) =>
    recordedProposal(replay, sequence, { prompt, reply, truth }, most);
  ModelDrafter.prototype.propose = function propose(sequence, most) {
    return headProposal(this, sequence, truth, most);
  };
  await run(drafting, ids, reply.length);
  const before = (await drafting.metrics()).speculation;
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const without = await run(plain, ids, reply.length);
    const drafted = await run(drafting, ids, reply.length);
    if (drafted.ids.join() !== without.ids.join()) throw new Error('drafts have changed tokens');
    rounds.push({ plain: without.time, drafted: drafted.time });
  }
  const after = (await drafting.metrics()).speculation;
  NgramDrafter.prototype.propose = lookUp;
  const count = (key) => (after[key] - before[key]) / ROUNDS;
  return {
    tokens: reply.length,
    drafts: count('drafts'),
    proposed: count('proposed'),
    accepted: count('accepted'),
    rounds,
  };
}

/** What looking up proposes at this place of the recorded text, as tokens of the measured model: right ones where it is right there. */
function recordedProposal(replay, sequence, { prompt, reply, truth }, most) {
  const { progress } = sequence;
  const at = progress.ids.length - progress.promptTokens;
  sequence.recorded ??= {
    request: { isShared: false, predicted: [] },
    progress: { ids: [...prompt], promptTokens: prompt.length },
  };
  const source = sequence.recorded;
  for (let i = source.progress.ids.length - prompt.length; i < at; i++) source.progress.ids.push(reply[i]);
  const proposal = lookUp.call(replay, source, most);
  if (proposal === null) return null;
  const right = proposal.ids.findIndex((id, i) => id !== reply[at + i]);
  const ids = proposal.ids.map((_, i) => {
    const own = truth[at + i] ?? 0;
    return right >= 0 && i >= right ? (own + 1) % plain.info.vocabSize : own;
  });
  return { ids, chances: proposal.chances };
}

/** As many tokens as the head has guessed, of which a share is right. */
function headProposal(drafter, sequence, truth, most) {
  const { progress } = sequence;
  const proposal = guess.call(drafter, sequence, most);
  if (proposal === null) return null;
  const at = progress.ids.length - progress.promptTokens;
  const isRight = (place) => (Math.imul(place + 1, 2654435761) >>> 0) / 2 ** 32 < share;
  const ids = proposal.ids.map((_, i) => {
    const own = truth[at + i] ?? 0;
    return isRight(at + i) ? own : (own + 1) % plain.info.vocabSize;
  });
  return { ids, chances: proposal.chances };
}

/** Time from the first token to the last, and all tokens. */
async function run(model, ids, maxTokens) {
  const request = { prompt: { ids }, maxTokens, ignoreEos: true, temperature: 0 };
  const said = [];
  let first = null;
  let last = null;
  for await (const event of model.generate(request)) {
    if (event.type !== 'delta') continue;
    last = now();
    first ??= last;
    said.push(...event.ids);
  }
  return { ids: said, time: { wall: last.wall - first.wall, quiet: last.quiet - first.quiet } };
}

/** Median milliseconds of decode steps by their rows, and whether they had drafts. */
function stepTimes() {
  const table = new Map();
  for (const { rows, isDrafted, ms } of costs) {
    const key = `${rows} ${isDrafted ? 'drafted' : 'plain'}`;
    table.set(key, [...(table.get(key) ?? []), ms]);
  }
  return Object.fromEntries(
    [...table]
      .filter(([, times]) => times.length >= 5)
      .map(([key, times]) => [key, times.toSorted((a, b) => a - b)[times.length >> 1]]),
  );
}

/** Prompts and replies of tasks that repeat their prompts, and of one that does not. */
function recorded() {
  const source = readFileSync(new URL('cache.mjs', import.meta.url), 'utf8');
  const people = Array.from({ length: 16 }, (_, i) => ({
    name: ['Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Donald', 'John', 'Frances'][i % 8],
    year: 1900 + ((i * 37) % 80),
    city: ['Paris', 'London', 'Berlin', 'Rome'][i % 4],
    active: i % 3 > 0,
    address: { street: null, postalCode: null, country: 'Europe' },
  }));
  const prose = people
    .map(({ name, year, city }) => `In ${year} ${name} moved to ${city} and stayed there.`)
    .join(' ');
  const license = readFileSync(`${root}LICENSE`, 'utf8');
  const half = license.slice(3000, 5200);
  return {
    'code editing': {
      prompt: `Rename storage to files.\n${source.slice(0, 1500)}\nThe changed file:\n`,
      reply: source.slice(0, 1500).replaceAll('storage', 'files'),
    },
    extraction: {
      prompt: `${prose}\nList the sentences about London:\n`,
      reply: prose
        .split('. ')
        .filter((sentence) => sentence.includes('London'))
        .map((sentence) => `- ${sentence}.\n`)
        .join('')
        .repeat(3),
    },
    json: { prompt: `${prose}\nAs JSON:\n`, reply: JSON.stringify(people, null, 1) },
    'free text': { prompt: license.slice(0, 1500), reply: half },
  };
}
