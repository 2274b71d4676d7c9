// Settings of step caches by the keys of cache-dit, of diffusers' hooks and of TeaCache, and ours.

import { badRequest } from '../../../files/error.ts';
import { field, option, say } from '../../../files/message.ts';
import {
  byChange,
  byInterval,
  byMagnitude,
  byMask,
  byProbe,
  NO_LIMITS,
  type Limits,
  type ReuseRule,
} from './decisions.ts';
import { MASK_NAMES, maskOf, namedMask, type MaskName } from './step-masks.ts';
import { SettingReader } from './setting-reader.ts';
import type { TeaCacheDefaults } from './teacache.ts';

export const CACHE_OPTION = 'cacheDitConfig';

/** What a model tells of its steps. */
export interface ReusedModel {
  /** Whether blocks of a transformer can be reused, or the deep part of a UNet. */
  has: 'blocks' | 'deep';
  /** null: no coefficients are published for it. */
  teacache: TeaCacheDefaults | null;
}

/** Shares of the steps between which guidance has a pass for the negative prompt. */
export type GuidanceInterval = readonly [start: number, stop: number];

export interface StepReuseSettings {
  /** null: all steps compute everything. */
  rule: ReuseRule | null;
  /** That of a second transformer; left out: the same. */
  second?: ReuseRule;
  /** null: all steps are guided. */
  guidance: GuidanceInterval | null;
}

const BLOCKS = { of: 'blocks', firstBlocks: 0, lastBlocks: 0, order: 0, levels: 0 } as const;

interface Method {
  help: string;
  /** Settings, as they are documented. */
  keys: string;
  read(settings: SettingReader, model: ReusedModel): ReuseRule;
}

/** Values of `method`; the first is taken where it is left out. */
export const CACHE_METHODS: Readonly<Record<string, Method>> = {
  dbcache: {
    help: 'DBCache: the first blocks are computed; while what they add has changed little since the last computed step, the others are not.',
    keys: 'Fn_compute_blocks (8), Bn_compute_blocks (0: last blocks, which are computed as well), residual_diff_threshold (0.08), max_warmup_steps (8), warmup_interval (1), max_cached_steps and max_continuous_cached_steps (-1: any number), enable_taylorseer (false), taylorseer_order (1), steps_computation_mask (slow, medium, fast, ultra, or a list of 1 and 0) or compute_bins with cache_bins, steps_computation_policy (dynamic; static: the mask alone decides)',
    read: readDBCache,
  },
  first_block: {
    help: 'First Block Cache, as diffusers has it: DBCache with one first block and no limits.',
    keys: 'threshold (0.05)',
    read: readFirstBlock,
  },
  taylorseer: {
    help: 'TaylorSeer: steps at intervals are computed, others continue what the blocks added by its divided differences.',
    keys: 'cache_interval (5), disable_cache_before_step (3), disable_cache_after_step (none), max_order (1), use_lite_mode (false in transformers: the whole prediction is continued, and no block is computed)',
    read: readTaylorSeer,
  },
  teacache: {
    help: 'TeaCache: steps are computed where the input of the first block has moved enough, estimated by a polynomial that is published for the model.',
    keys: "teacache_thresh or rel_l1_thresh (the model's), coefficients (the model's), start_skipping (5, or the model's: the first step, counted from 1, that may reuse), end_skipping (-1: steps at the end that do not)",
    read: readTeaCache,
  },
  magcache: {
    help: 'MagCache: ratios of what the blocks add from step to step, measured with the model, tell which steps change little.',
    keys: 'mag_ratios, threshold (0.06), max_skip_steps (3), retention_ratio (0.2: share of the steps, from the first on, that are computed)',
    read: readMagCache,
  },
  deepcache: {
    help: 'DeepCache, for UNets: steps at intervals are computed, others compute the outer levels alone.',
    keys: 'cache_interval (3), cache_branch_id (0: further levels that are computed)',
    read: readDeepCache,
  },
};

const METHOD_NAMES: Readonly<Record<string, string>> = {
  'cache-dit': 'dbcache',
  fbcache: 'first_block',
  first_block_cache: 'first_block',
  taylorseer_cache: 'taylorseer',
  tea_cache: 'teacache',
  mag_cache: 'magcache',
  deep_cache: 'deepcache',
};

/** Throws bad_request for what is unknown or cannot be done with the model. */
export function readCacheSettings(
  given: Readonly<Record<string, unknown>>,
  model: ReusedModel,
): StepReuseSettings {
  const { cache_config: nested, secondary, ...others } = given;
  const own = { ...others, ...sectionOf('cache_config', nested) };
  const settings = new SettingReader(own);
  const guidance = settings.shares('guidance_interval');
  if (guidance && model.has === 'deep')
    throw settings.error(
      'guidance_interval',
      guidance,
      'a UNet computes both texts in one pass: leave it out',
    );
  const rule = settings.isEmpty ? null : readRule(settings, model);
  settings.end();
  if (!rule || secondary === undefined) return { rule, guidance };
  const { guidance_interval: _, ...shared } = own;
  const other = new SettingReader({ ...shared, ...sectionOf('secondary', secondary) });
  const second = readRule(other, model);
  other.end();
  if (second.of !== rule.of)
    throw settings.error('secondary', secondary, 'both transformers reuse the same: leave out its method');
  return { rule, second, guidance };
}

/** TeaCache with what is published for the model. Throws unsupported where nothing is. */
export function teaCacheRule({ teacache }: Pick<ReusedModel, 'teacache'>, param: string): ReuseRule {
  if (teacache) return probing(teacache);
  throw badRequest(
    say`${field(param)} asks for TeaCache, and no coefficients are published for this model: leave it out, or choose another cache by ${option(CACHE_OPTION)}`,
    param,
  );
}

function readRule(settings: SettingReader, model: ReusedModel): ReuseRule {
  const method = settings.text('method') ?? settings.text('cache_type') ?? 'dbcache';
  const name = METHOD_NAMES[method.toLowerCase()] ?? method.toLowerCase();
  const known = CACHE_METHODS[name];
  if (!known) throw settings.error('method', method, `name one of ${Object.keys(CACHE_METHODS).join(', ')}`);
  const rule = known.read(settings, model);
  const wanted = rule.of === 'prediction' ? model.has : rule.of;
  if (wanted === model.has) return rule;
  const remedy =
    model.has === 'deep'
      ? 'the model is a UNet: choose deepcache, or taylorseer with use_lite_mode'
      : 'the model is a transformer: choose another';
  throw settings.error('method', name, remedy);
}

function sectionOf(key: string, nested: unknown): Readonly<Record<string, unknown>> {
  if (nested === undefined || nested === null) return {};
  if (typeof nested === 'object' && !Array.isArray(nested)) return nested as Record<string, unknown>;
  throw badRequest(
    say`${option(CACHE_OPTION)} has ${key} ${JSON.stringify(nested)}: it is a section of keys and values`,
    CACHE_OPTION,
  );
}

function readDBCache(settings: SettingReader): ReuseRule {
  const unlimited = (key: string): number => {
    const most = settings.whole(key, -1) ?? -1;
    return most < 0 ? Infinity : most;
  };
  const limits: Limits = {
    warmup: settings.whole('max_warmup_steps', 0) ?? 8,
    warmupInterval: settings.whole('warmup_interval', 1) ?? 1,
    most: unlimited('max_cached_steps'),
    mostInRow: unlimited('max_continuous_cached_steps'),
  };
  settings.skip('num_inference_steps', 'enable_separate_cfg');
  const threshold = settings.number('residual_diff_threshold', 0) ?? 0.08;
  const mask = readMask(settings);
  const isStatic = settings.choice('steps_computation_policy', ['dynamic', 'static']) === 'static';
  const first = settings.whole('Fn_compute_blocks', 1);
  const taylor = settings.flag('enable_taylorseer') ?? false;
  const order = settings.whole('taylorseer_order', 0, MOST_ORDER) ?? 1;
  return {
    ...BLOCKS,
    decision: mask
      ? byMask(mask, isStatic ? null : byChange(threshold, { ...limits, warmup: 0 }))
      : byChange(threshold, limits),
    firstBlocks: first ?? USUAL_FIRST_BLOCKS,
    orFewer: first === undefined,
    lastBlocks: settings.whole('Bn_compute_blocks', 0) ?? 0,
    order: taylor ? order : 0,
  };
}

const USUAL_FIRST_BLOCKS = 8;

/** Highest divided difference. */
const MOST_ORDER = 4;

/** Returns which steps compute, for a number of steps; null: there is no mask. */
function readMask(settings: SettingReader): ((steps: number) => readonly boolean[]) | null {
  const computed = settings.wholes('compute_bins');
  const reused = settings.wholes('cache_bins');
  const mask = settings.any('steps_computation_mask');
  if (computed && reused) return (steps) => maskOf({ computed, reused }, steps);
  if (computed ?? reused)
    throw settings.error(
      'compute_bins',
      computed ?? null,
      'give cache_bins as well, which stand between them',
    );
  if (mask === undefined || mask === null) return null;
  if (typeof mask === 'string' && (MASK_NAMES as readonly string[]).includes(mask))
    return (steps) => namedMask(mask as MaskName, steps);
  if (Array.isArray(mask) && mask.length > 0 && mask.every((one) => one === 0 || one === 1)) {
    const own = mask.map((one) => one === 1);
    return (steps) => Array.from({ length: steps }, (_, i) => own[i] ?? true);
  }
  throw settings.error(
    'steps_computation_mask',
    mask,
    `give ${MASK_NAMES.join(', ')}, or a list of 1 for steps that compute and 0 for others`,
  );
}

function readFirstBlock(settings: SettingReader): ReuseRule {
  const threshold = settings.number('threshold', 0) ?? 0.05;
  return { ...BLOCKS, decision: byChange(threshold, NO_LIMITS), firstBlocks: 1 };
}

function readTaylorSeer(settings: SettingReader, { has }: ReusedModel): ReuseRule {
  const interval = settings.whole('cache_interval', 1) ?? 5;
  const first = settings.whole('disable_cache_before_step', 1) ?? 3;
  const until = settings.whole('disable_cache_after_step', 1) ?? Infinity;
  const order = settings.whole('max_order', 0, MOST_ORDER) ?? 1;
  const isWhole = settings.flag('use_lite_mode') ?? has === 'deep';
  settings.skip('taylor_factors_dtype');
  return {
    ...BLOCKS,
    of: isWhole ? 'prediction' : 'blocks',
    decision: byInterval({ interval, first, from: first + 1, until }),
    order,
  };
}

function readTeaCache(settings: SettingReader, { teacache }: ReusedModel): ReuseRule {
  const own = settings.numbers('coefficients') ?? teacache?.coefficients;
  if (!own)
    throw settings.error(
      'method',
      'teacache',
      'no coefficients are published for this model: give coefficients',
    );
  if (settings.flag('use_ret_steps') === false)
    throw settings.error('use_ret_steps', false, 'the coefficients without it are not built: leave it out');
  const threshold = ['teacache_thresh', 'rel_l1_thresh', 'threshold']
    .map((key) => settings.number(key, 0))
    .find((value) => value !== undefined);
  const start = settings.whole('start_skipping', 1);
  const end = settings.whole('end_skipping', -1000, 0);
  return probing({
    coefficients: own,
    threshold: threshold ?? teacache?.threshold ?? 0.2,
    first: start === undefined ? (teacache?.first ?? 1) : Math.max(1, start - 1),
    last: end === undefined ? (teacache?.last ?? 1) : -end,
  });
}

const probing = ({ threshold, coefficients, ...range }: TeaCacheDefaults): ReuseRule => ({
  ...BLOCKS,
  decision: byProbe(threshold, coefficients, range),
});

function readMagCache(settings: SettingReader): ReuseRule {
  const ratios = settings.numbers('mag_ratios');
  if (!ratios)
    throw settings.error(
      'method',
      'magcache',
      'give mag_ratios, which were measured with the model, as in diffusers',
    );
  settings.skip('num_inference_steps');
  return {
    ...BLOCKS,
    decision: byMagnitude({
      ratios,
      threshold: settings.number('threshold', 0) ?? 0.06,
      mostInRow: settings.whole('max_skip_steps', 0) ?? 3,
      retained: settings.number('retention_ratio', 0, 1) ?? 0.2,
    }),
  };
}

function readDeepCache(settings: SettingReader): ReuseRule {
  const interval = settings.whole('cache_interval', 1) ?? 3;
  const levels = settings.whole('cache_branch_id', 0) ?? 0;
  return {
    ...BLOCKS,
    of: 'deep',
    levels,
    decision: byInterval({ interval, first: 0, from: 0, until: Infinity }),
  };
}
