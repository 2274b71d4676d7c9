// The devices that draw the results of one model, and how they divide the work: degrees that are left out are filled in, and all are checked, in
// the order of SGLang.

import { badRequest, unsupported } from '../../../files/error.ts';
import { type Message, option, say } from '../../../files/message.ts';
import type { RankRules } from './rank-rules.ts';

/** Degrees as they are given. */
export interface Degrees {
  numGpus?: number;
  tpSize?: number;
  spDegree?: number;
  ulyssesDegree?: number;
  ringDegree?: number;
  kvGatherDegree?: number;
  dpSize?: number;
  /** 1 means that it is left to the others. */
  dpDegree?: number;
  enableCfgParallel?: boolean;
  cfgParallelSize?: number;
}

/** Numbers of parts into which work is divided; `ranks` is the product of `dp`, `cfg`, `sp` and `tp`. */
export interface World {
  ranks: number;
  /** Replicas, which draw results of their own. */
  dp: number;
  /** Passes of guidance that are computed at the same time. */
  cfg: number;
  /** Parts of the tokens: `kvGather`, or `ulysses` · `ring`. */
  sp: number;
  kvGather: number;
  ulysses: number;
  ring: number;
  /** Parts of the matrices. */
  tp: number;
}

/** Passes of guidance. */
const PASSES = 2;

/** `isGuided`: whether the model draws with guidance where a request states nothing. Throws bad_request with the numbers that do not fit. */
export function worldOf(given: Degrees, isGuided: boolean): World {
  const { numGpus: ranks = 1, dpSize: dp = 1, tpSize: tp = 1 } = given;
  const cfg = cfgOf(given, { ranks, dp, tp }, isGuided);
  const rest = ranks / (dp * tp * cfg);
  const { spDegree: sp = Number.isInteger(rest) ? rest : 1 } = given;
  const world = { ranks, dp, cfg, sp, tp, ...sequenceOf(given, sp) };
  check(world, given);
  return world;
}

function cfgOf(
  { enableCfgParallel, cfgParallelSize, ...given }: Degrees,
  { ranks, dp, tp }: Pick<World, 'ranks' | 'dp' | 'tp'>,
  isGuided: boolean,
): number {
  if (cfgParallelSize !== undefined) return cfgParallelSize;
  if (enableCfgParallel !== undefined) return enableCfgParallel ? PASSES : 1;
  const { spDegree, ulyssesDegree, ringDegree, kvGatherDegree } = given;
  const isSplit = [spDegree, ulyssesDegree, ringDegree, kvGatherDegree].some((one) => one !== undefined);
  return isGuided && !isSplit && ranks % (dp * tp * PASSES) === 0 ? PASSES : 1;
}

function sequenceOf(
  { ulyssesDegree, ringDegree, kvGatherDegree }: Degrees,
  sp: number,
): Pick<World, 'kvGather' | 'ulysses' | 'ring'> {
  const isOpen = [ulyssesDegree, ringDegree, kvGatherDegree].every((one) => one === undefined);
  if (isOpen && sp === 2) return { kvGather: 2, ulysses: 1, ring: 1 };
  if (isOpen) return { kvGather: 1, ulysses: sp, ring: 1 };
  return { kvGather: kvGatherDegree ?? 1, ulysses: ulyssesDegree ?? 1, ring: ringDegree ?? 1 };
}

function check({ ranks, dp, cfg, sp, kvGather, ulysses, ring, tp }: World, given: Degrees): void {
  const { dpDegree = 1, cfgParallelSize } = given;
  const gpus = say`${option('numGpus')} ${ranks}`;
  const cfgOption = cfgParallelSize === undefined ? 'enableCfgParallel' : 'cfgParallelSize';
  require(kvGather === 1 || kvGather === sp, 'kvGatherDegree', () =>
    say`${option('kvGatherDegree')} ${kvGather} is not ${option('spDegree')} ${sp}: give one number for both`);
  require(kvGather === 1 || ulysses * ring === 1, 'kvGatherDegree', () =>
    say`${option('kvGatherDegree')} ${kvGather} does not go with ${option('ulyssesDegree')} ${ulysses} and ${option('ringDegree')} ${ring}: give it alone, or leave it out`);
  require(ranks % sp === 0, 'spDegree', () =>
    say`${gpus} is not divisible by ${option('spDegree')} ${sp}: give a multiple`);
  require(ranks % dp === 0, 'dpSize', () =>
    say`${gpus} is not divisible by ${option('dpSize')} ${dp}: give ${option('numGpus')} ${dp * dpDegree}, or a multiple`);
  require(dpDegree === 1 || dp * dpDegree === ranks, 'dpDegree', () =>
    say`${option('dpSize')} ${dp} times ${option('dpDegree')} ${dpDegree} is ${dp * dpDegree}, and ${gpus} is given: give the product`);
  require(cfg === 1 || ranks > 1, cfgOption, () =>
    say`${option(cfgOption)} takes ${cfg} GPUs, and ${gpus} is given: give ${option('numGpus')} ${dp * tp * cfg}`);
  require(ranks % (dp * tp * cfg) === 0, 'numGpus', () =>
    say`${gpus} is not divisible by ${dp * tp * cfg}, the product of ${option('dpSize')} ${dp}, ${option('tpSize')} ${tp} and ${option('cfgParallelSize')} ${cfg}: give a multiple`);
  require(kvGather > 1 || sp === ulysses * ring, 'spDegree', () =>
    say`${option('spDegree')} ${sp} is not the product of ${option('ringDegree')} ${ring} and ${option('ulyssesDegree')} ${ulysses}: give the product, or leave it out`);
  require(ranks === dp * cfg * sp * tp, 'numGpus', () =>
    say`${gpus} is not ${dp * cfg * sp * tp}, the product of ${option('dpSize')} ${dp}, ${option('cfgParallelSize')} ${cfg}, ${option('spDegree')} ${sp} and ${option('tpSize')} ${tp}: give the product`);
}

function require(holds: boolean, param: string, message: () => Message): void {
  if (!holds) throw badRequest(message(), param);
}

/** Throws unsupported for a division that a model forbids, and bad_request for heads that are not divisible. `model`: its name in messages. */
export function checkTokens(
  { ranks, sp, tp, ulysses }: World,
  tokens: RankRules['tokens'],
  model: string,
): void {
  const gpus = say`${option('numGpus')} ${ranks} would divide`;
  const remedy = say`choose ${option('dpSize')} and ${option('enableCfgParallel')} so that nothing is left to divide`;
  if (sp === 1) return;
  const { because, heads, isWhole = false } = tokens ?? { because: UNDIVIDED };
  if (because !== undefined)
    throw unsupported(
      say`${gpus} tokens over ${sp} GPUs, which ${model} does not allow, because ${because}: ${remedy}`,
      'spDegree',
    );
  const parts = isWhole ? 1 : tp;
  if (heads % (parts * ulysses) === 0) return;
  const by = say`${option('ulyssesDegree')} ${ulysses}`;
  const product = parts === 1 ? by : say`the product of ${option('tpSize')} ${tp} and ${by}`;
  throw badRequest(
    say`${model} has ${heads} heads of keys, which are not divisible by ${product}: give a divisor, or ${option('kvGatherDegree')} ${sp}`,
    'ulyssesDegree',
  );
}

/** Why the tokens of models that say nothing of them are not divided. */
const UNDIVIDED = 'its convolutions see all of an image';
