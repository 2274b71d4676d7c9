// How the steps of a request reuse what others computed: as the model was opened, or by TeaCache where the request asks for it.

import { badRequest } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import type { FamilyModel } from './blocks/family.ts';
import type { Resolved } from './stages/resolved.ts';
import {
  CACHE_OPTION,
  readCacheSettings,
  teaCacheRule,
  type ReusedModel,
  type StepReuseSettings,
} from './step-cache/cache-settings.ts';

export interface ReusingRequest {
  request: Pick<Resolved['request'], 'enableTeacache'>;
  event: { values: Pick<Resolved['event']['values'], 'width' | 'height'> };
}

/** `config`: settings with which the model was opened; `denoiser`: the name of its component. The returned function throws bad_request. */
export function reuseReader(
  config: Readonly<Record<string, unknown>> = {},
  denoiser: string,
  runner: Pick<FamilyModel, 'teacache' | 'controls'>,
): (request: ReusingRequest) => StepReuseSettings {
  return ({ request: { enableTeacache = false }, event: { values } }) => {
    const model: ReusedModel = {
      has: denoiser === 'unet' ? 'deep' : 'blocks',
      teacache: runner.teacache?.(values) ?? null,
    };
    const settings = readCacheSettings(config, model);
    if (settings.rule?.of === 'deep' && (runner.controls ?? 0) > 0)
      throw badRequest(
        say`${option(CACHE_OPTION)} is deepcache, and ControlNets steer all levels of the UNet: leave out ${option('controlnetPath')}, or choose taylorseer`,
        CACHE_OPTION,
      );
    return enableTeacache ? { ...settings, rule: teaCacheRule(model, 'enableTeacache') } : settings;
  };
}
