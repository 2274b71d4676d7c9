// Rules of the options of speculation that concern several of them.

import { option, say, type Prose } from '../../../files/message.ts';
import { badRequest, unsupported } from '../../../files/error.ts';
import type { TextModelOptions } from '../calls/text-model.ts';

/** Algorithms whose drafts come from a checkpoint of their own, or may. */
const OF_MODELS: readonly unknown[] = ['mtp', 'eagle3', 'draft'];

/** Throws bad_request for options that contradict each other or have no effect, unsupported for what a divided model does not have. */
export function checkSpeculation(options: TextModelOptions): void {
  const { speculativeAlgorithm: algorithm = 'none', speculativeDraftModelPath: path, tpSize = 1 } = options;
  const kind = option('speculativeAlgorithm');
  const useless = (param: keyof TextModelOptions, why: Prose): never => {
    throw badRequest(say`${option(param)} has no effect ${why}`, param);
  };
  for (const param of ['speculativeNumDraftTokens', 'speculativeAdaptive'] as const)
    if (algorithm === 'none' && options[param] !== undefined)
      useless(param, say`without drafts: set ${kind}, too`);
  if (options.speculativeNgramCapacity && algorithm !== 'ngram')
    useless('speculativeNgramCapacity', say`where ${kind} is ${algorithm}: it is for ngram`);
  if (options.speculativeNgramCapacity && options.prefixCache === false)
    useless('speculativeNgramCapacity', 'where requests share nothing: leave one of the two out');
  const given = option('speculativeDraftModelPath');
  if (path !== undefined && !OF_MODELS.includes(algorithm))
    throw badRequest(
      say`${given} ${path} is for ${kind} mtp, eagle3 or draft, and it is ${algorithm}: name one of these`,
      'speculativeDraftModelPath',
    );
  if (path === undefined && (algorithm === 'eagle3' || algorithm === 'draft'))
    throw badRequest(
      say`${kind} ${algorithm} needs a draft model: name it with ${given}`,
      'speculativeDraftModelPath',
    );
  if (tpSize > 1 && OF_MODELS.includes(algorithm))
    throw unsupported(
      say`${kind} ${algorithm} is not built for a model that ${option('tpSize')} divides among devices: leave one of the two out`,
      'speculativeAlgorithm',
    );
}
