// Seeded mutation of checkpoints: each mutant is a sound checkpoint with one thing damaged, or changed in a way that is legal. A
// damaged one must be refused in words that lead to the damage, or give what the sound one gives; a legal one must give it. None may
// end the process, hang it, fill memory, or leave anything in the caches.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom } from './client.mjs';
import { BASES, filesOf, writeBase } from './mutate-bases.mjs';
import { fileBases } from './mutate-file-bases.mjs';
import { hasCommand, judgeCommand, runCommand } from './mutate-cli.mjs';
import { addFile, replaceFile } from './mutate-files.mjs';
import { ggufBits, ggufField, ggufLength, ggufName, ggufOddValue, ggufPlaces } from './mutate-gguf.mjs';
import { cutText, lieInIndex, removeKey, replaceText, setKey } from './mutate-json.mjs';
import { judge } from './mutate-judge.mjs';
import { lieInKnownKey } from './mutate-known.mjs';
import { Lane } from './mutate-lane.mjs';
import { LEGAL } from './mutate-legal.mjs';
import { lieInTemplate, lieInTokenizer } from './mutate-speech.mjs';
import {
  dataBits,
  entryLie,
  headerBits,
  oddValue,
  overlap,
  wrongHeader,
  wrongLength,
  wrongName,
} from './mutate-tensors.mjs';

/** Limits of one checkpoint: opening it, eight tokens, six more, a conversation rendered; or a picture of two steps; or two vectors. */
export const LIMITS = { milliseconds: 60_000, bytes: 3 * 2 ** 30 };
/** Compiles kernels where the driver has not kept them. */
const BASE_LIMITS = { milliseconds: 240_000, bytes: LIMITS.bytes };

const legal = (at) => ({ ...at.random.pick(LEGAL)(at), isLegal: true });

/** In turn, so that each occurs at the same rate whatever the seed. */
const KINDS = [
  ...[setKey, entryLie, lieInTokenizer, legal, lieInKnownKey, oddValue, replaceFile, lieInTemplate, setKey],
  ...[
    wrongName,
    lieInKnownKey,
    legal,
    setKey,
    lieInTokenizer,
    wrongLength,
    lieInKnownKey,
    cutText,
    replaceText,
  ],
  ...[legal, lieInKnownKey, wrongHeader, addFile, removeKey, overlap, lieInIndex, legal, lieInKnownKey],
  ...[lieInTokenizer, replaceFile, lieInKnownKey, oddValue, headerBits, dataBits, headerBits],
  ...[ggufField, ggufBits, ggufName, ggufField, ggufLength, ggufPlaces, ggufOddValue, ggufField],
];

/** Checkpoints of the short form: one of each kind, and files of image models. */
const FEW = ['llama', 'lora', 'qwen3', 'bert', 'sd1'];
const FEW_FILES = ['file-sd1', 'gguf-sd1', 'lora-two', 'words'];
/** Every so many mutants one is opened by the command line too. */
const COMMAND_EVERY = 20;

/**
 * Runs `count` mutants of a seed, or those numbered in `only`; `few`: of a few small checkpoints; `matching`: of the bases whose names
 * match. Returns a remark; throws with a list where one is a defect.
 */
export async function mutationLoad({
  seed,
  count,
  only = null,
  few = false,
  matching = /^/,
  tell = () => {},
  lanes = 2,
}) {
  const home = mkdtempSync(join(tmpdir(), 'svc-mutants-'));
  const all = { ...BASES, ...fileBases(home, few ? FEW_FILES : []) };
  const names = few ? [...FEW, ...FEW_FILES] : Object.keys(all);
  const from = Object.fromEntries(
    names.filter((name) => matching.test(name)).map((name) => [name, all[name]]),
  );
  const bases = new SoundBases(home, from);
  const numbers = only?.slice() ?? Array.from({ length: count }, (_, n) => n);
  const verdicts = {};
  const defects = [];
  const runLane = async (lane) => {
    for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) {
      const { line, verdict } = await runMutant({ n, seed, from, home, bases, lane });
      verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
      tell(line);
      if (verdict !== verdict.toLowerCase()) defects.push(line);
    }
  };
  const own = Array.from({ length: lanes }, (_, i) => new Lane(join(home, `cache-${i}`)));
  try {
    await Promise.all(own.map(runLane));
  } finally {
    for (const lane of own) lane.close();
    rmSync(home, { recursive: true, force: true });
  }
  const remark = Object.entries(verdicts)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([verdict, times]) => `${times} ${verdict}`)
    .join(', ');
  if (defects.length === 0) return remark;
  throw new Error(`${remark}\n${defects.join('\n')}\nAgain: --seed ${seed} --mutation <number>`);
}

async function runMutant({ n, seed, from, home, bases, lane }) {
  const folder = join(home, `mutant-${n}`);
  const { name, base, mutant, quantization } = makeMutant({ n, seed, from, folder });
  const job = jobFor(base, folder, quantization);
  const isCommanded = n % COMMAND_EVERY === 3 && hasCommand(base);
  try {
    const sound = await bases.sound(name, quantization, lane);
    const before = lane.cached();
    const result = await lane.run(job, LIMITS);
    let { verdict, why } = judge({ base, mutant, sound, result });
    const left = lane.cached().filter((path) => !before.includes(path) && isGarbage(path, mutant, base));
    if (verdict === 'refused' && left.length > 0) [verdict, why] = ['GARBAGE', `left ${left.join(', ')}`];
    if (isCommanded && verdict === verdict.toLowerCase()) {
      const end = await runCommand({ ...job, output: join(folder, 'images') }, lane.env, LIMITS.milliseconds);
      const wrong = judgeCommand(end, result, LIMITS.milliseconds);
      if (wrong) [verdict, why] = ['COMMAND', wrong];
    }
    const time = result.milliseconds > 3000 ? ` (${(result.milliseconds / 1000).toFixed(1)} s)` : '';
    return {
      verdict,
      line: `${verdict.padEnd(11)} ${n} ${name}: ${mutant.what}${time}${why ? ` → ${why}` : ''}`,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Packed weights may stay where the weights are sound: they are used once the rest is mended. */
function isGarbage(path, { file }, { only }) {
  const isOfWeights = file.endsWith('.safetensors') && !only;
  return isOfWeights || !/\.safetensors$|^(packed|weights|tuned)$|^weights\//.test(path);
}

/** Draws of a kind for one base; most bases take most kinds. */
const MOST_DRAWS = 1000;

/** Mutant `n` of a seed, written to `folder`. A kind that does not fit the base is drawn again. */
function makeMutant({ n, seed, from, folder }) {
  const random = createRandom(seed * 1_000_003 + n * 7919 + 1);
  random.next();
  const name = random.pick(Object.keys(from));
  const base = from[name];
  writeBase(base, folder);
  const quantization = random.chance(0.15) && base.kind === 'text' ? 'int8' : 'none';
  const files = filesOf(base, folder);
  for (let draws = 0; draws < MOST_DRAWS; draws++) {
    const kind = draws === 0 ? KINDS[n % KINDS.length] : random.pick(KINDS);
    const mutant = kind({ folder, base, files, random });
    if (mutant?.what) return { name, base, mutant, quantization };
  }
  throw new Error(`no mutation fits ${name}`);
}

function jobFor(base, path, quantization) {
  const adapter = base.adapter ? join(path, 'adapter') : undefined;
  const { kind, size, options, request } = base;
  return { kind, path, adapter, size, quantization, options, request };
}

/** Outcomes of the sound checkpoints, each computed once. */
class SoundBases {
  #home;
  #bases;
  #outcomes = new Map();

  constructor(home, bases) {
    this.#home = home;
    this.#bases = bases;
  }

  sound(name, quantization, lane) {
    const key = `${name}-${quantization}`;
    if (!this.#outcomes.has(key)) this.#outcomes.set(key, this.#compute(name, quantization, lane));
    return this.#outcomes.get(key);
  }

  async #compute(name, quantization, lane) {
    const folder = join(this.#home, `${name}-${quantization}`);
    const base = this.#bases[name];
    writeBase(base, folder);
    const result = await lane.run(jobFor(base, folder, quantization), BASE_LIMITS);
    if (!result.output) throw new Error(`the sound ${name} does not run: ${JSON.stringify(result)}`);
    return result;
  }
}
