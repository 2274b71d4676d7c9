// The command-line options for models that are opened on demand.

import { DEFAULTS } from '../../options/limits.ts';
import { flagName, type Setting } from '../../options/setting.ts';
import { RANKS } from '../../options/ranks.ts';
import type { CatalogLimits } from '../../server/entry.ts';
import type { OptionTable, Values } from '../options/option.ts';
import { UsageError } from '../process/exit.ts';

export const ON_DEMAND_OPTIONS = {
  'models-dir': {
    kind: 'string',
    group: 'Model',
    value: 'folder|cache',
    help: "Serves every model in a folder, or in the hub's cache, that svc list shows. A model is opened at its first request, and closed by last use when --memory-budget, which is then that of all together, or --models-max needs its room. Those of --model-path stay open.",
    otherwise: 'only those of --model-path',
  },
  'models-max': {
    kind: 'integer',
    default: DEFAULTS.openModels,
    min: 0,
    group: 'Model',
    help: 'Most models that are open at once with --models-dir; 0: as many as memory holds.',
  },
  'models-pinned': {
    kind: 'list',
    group: 'Model',
    value: 'name,...',
    help: 'Models of --models-dir that stay open once they are.',
    otherwise: 'none',
  },
} as const satisfies OptionTable;

type OnDemandOptions = Partial<Values<typeof ON_DEMAND_OPTIONS>> & {
  'sleep-idle-seconds'?: number | undefined;
  'max-queued-requests'?: number | undefined;
};

/** Throws UsageError for options that have no effect without --models-dir, or with it. `fixed`: number of models of --model-path. */
export function checkOnDemand(options: OnDemandOptions, typed: ReadonlySet<string>, fixed: number): void {
  const { 'models-dir': place, 'models-max': most = 0, 'models-pinned': pinned = [] } = options;
  if (place === undefined) {
    const spare = ['models-max', 'models-pinned'].find((name) => typed.has(name));
    if (spare === undefined) return;
    throw new UsageError(
      `--${spare} is for models that are opened on demand: give --models-dir, or leave it out`,
    );
  }
  const ranks = Object.entries<Setting>(RANKS).map(([name, setting]) => flagName(name, setting));
  const divided = ['revision', ...ranks].find((name) => typed.has(name));
  if (divided !== undefined)
    throw new UsageError(`--${divided} is for models of --model-path alone: leave out --models-dir or it`);
  if (most > 0 && fixed + pinned.length > most)
    throw new UsageError(
      `--models-max is ${most}, and ${fixed + pinned.length} models stay open, of --model-path and --models-pinned: raise it`,
    );
}

/** `budget`: bytes for all models together; null: what the device gives. */
export function toLimits(options: OnDemandOptions, budget: number | null): CatalogLimits {
  const { 'models-max': most = DEFAULTS.openModels, 'models-pinned': pinned = [] } = options;
  const { 'sleep-idle-seconds': seconds, 'max-queued-requests': waiting = DEFAULTS.queuedRequests } = options;
  return {
    budget,
    most,
    pinned,
    keepAlive: seconds === undefined ? null : Math.ceil(1000 * seconds),
    waiting,
  };
}
