// The served model under its names: what /v1/models shows, and which request means it.

import type { SamplingOptions } from '../index.ts';
import { RequestError } from './errors.ts';
import type { ReadyPhase } from './service.ts';

const SAMPLING_NAMES: Record<keyof SamplingOptions, string> = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  minP: 'min_p',
};

/** The served name a request means: the full name, its last segment, or `default`. */
export function matchModel(names: string[], requested: string): string {
  const match =
    names.find((name) => name === requested) ??
    names.find((name) => lastSegment(name) === requested) ??
    (requested === 'default' ? names[0] : undefined);
  if (match !== undefined) return match;
  throw new RequestError(
    'model_not_found',
    `there is no model ${JSON.stringify(requested)} here; this server has ${names.join(', ')}`,
    { param: 'model' },
  );
}

export function modelList(ready: ReadyPhase, created: number) {
  return { object: 'list', data: ready.names.map((name) => modelEntry(ready, name, created)) };
}

export function modelEntry({ model, names }: ReadyPhase, id: string, created: number) {
  const { contextLength, sampling, samplingSource } = model.info;
  const defaults = Object.entries(SAMPLING_NAMES).map(([key, name]) => {
    const option = key as keyof SamplingOptions;
    return [name, { value: sampling[option], source: samplingSource[option] }];
  });
  return {
    id,
    object: 'model',
    created,
    owned_by: 'svc-engine',
    root: names[0],
    parent: null,
    max_model_len: contextLength,
    sampling_defaults: Object.fromEntries(defaults),
  };
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}
