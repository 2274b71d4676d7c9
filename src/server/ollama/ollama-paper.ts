// Models that are not open, in the words of Ollama's interface: what their files tell.

import { createHash } from 'node:crypto';
import type { OnDemandModel } from '../catalog/on-demand-model.ts';
import { visibleSlots } from '../service/caller.ts';
import type { Service } from '../service/service.ts';

/** Models for text and vectors that are opened on demand and not open now. */
export function paperModels(service: Service): OnDemandModel[] {
  return visibleSlots(service).flatMap(({ demand, phase, kind }) =>
    demand && phase.name !== 'ready' && kind?.name !== 'image' ? [demand] : [],
  );
}

/** What makes a model of a catalog a different one. */
export const identityOf = ({ found }: OnDemandModel): unknown[] => [found.path, found.bytes];

export function digestOf(name: string, identity: readonly unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify([name, ...identity]))
    .digest('hex');
}

export function paperEntry(name: string, demand: OnDemandModel) {
  return { name, model: name, digest: digestOf(name, identityOf(demand)), details: detailsOf(demand) };
}

/** The reply of /api/show without the time. */
export function paperProperties(demand: OnDemandModel) {
  const { name, kind, architecture, contextLength } = demand.found;
  const family = architecture ?? '';
  return {
    details: detailsOf(demand),
    model_info: {
      'general.architecture': family,
      'general.basename': name,
      ...(contextLength !== null && { [`${family}.context_length`]: contextLength }),
    },
    capabilities: [kind.name === 'embedding' ? ('embedding' as const) : ('completion' as const)],
  };
}

/** What only an open model knows is empty. */
function detailsOf({ found }: OnDemandModel) {
  const family = found.architecture ?? '';
  return {
    parent_model: '',
    format: 'safetensors',
    family,
    families: family === '' ? [] : [family],
    parameter_size: '',
    quantization_level: '',
  };
}
