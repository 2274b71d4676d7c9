// Managing models at the wish of a client, in any interface. Throws RequestError where the list of models is fixed, for unknown models, and for
// models that requests use.

import { MODEL_KINDS } from '../../index.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Downloads } from '../catalog/downloads.ts';
import type { OnDemandModel } from '../catalog/on-demand-model.ts';
import { fieldError, RequestError } from '../http/errors.ts';
import { downloadStatus } from '../service/model-status.ts';
import { type OnDemand, requireRunning, type Service, type Slot } from '../service/service.ts';
import { findSlot } from '../service/use-model.ts';

/** Throws unsupported where the list of models is fixed. */
export function requireOnDemand(service: Service): OnDemand {
  requireRunning(service);
  if (service.onDemand) return service.onDemand;
  throw new RequestError(
    'unsupported',
    'models are not loaded, unloaded, fetched or deleted here: they are given with --model-path when the server is started; start it with --models-dir for that',
  );
}

export interface Demanded {
  slot: Slot;
  demand: OnDemandModel;
  catalog: Catalog;
}

/** Finds a model that is opened on demand. */
export async function demandedModel(service: Service, requested: string): Promise<Demanded> {
  const { catalog } = requireOnDemand(service);
  const slot = await findSlot(service, Object.values(MODEL_KINDS), requested);
  if (slot.demand) return { slot, demand: slot.demand, catalog };
  throw new RequestError(
    'unsupported',
    `${requested} was given with --model-path, and is open as long as the server runs`,
    { param: 'model' },
  );
}

/** Closes a model once nothing uses it. */
export async function unloadModel(service: Service, requested: string): Promise<Demanded> {
  const found = await demandedModel(service, requested);
  const { demand, catalog } = found;
  if (demand.state === 'waiting' || demand.state === 'loading')
    throw new RequestError('busy', `${demand.name} is being opened; unload it once it is open`);
  await catalog.unload(demand);
  return found;
}

/** Begins to fetch a model. */
export function fetchModel(service: Service, id: string) {
  const download = downloadsFor(service, id).begin(id);
  return { success: true, model: id, status: downloadStatus(download) };
}

/** The downloads of a server, for an id of the hub. Throws RequestError for any other id. */
export function downloadsFor(service: Service, id: string): Downloads {
  const { downloads } = requireOnDemand(service);
  if (!/^[^/\s]+\/[^/\s]+$/.test(id))
    throw fieldError('model', `is ${JSON.stringify(id)}, and ids of the hub are written as owner/name`);
  return downloads;
}

/** Deletes a model with its files, or ends its download. */
export async function deleteModel(service: Service, requested: string | null) {
  const { downloads } = requireOnDemand(service);
  if (requested === null)
    throw fieldError(
      'model',
      'is required, as in DELETE /models?model=name; GET /v1/models lists the names',
      'missing_required_parameter',
    );
  const download = downloads.find(requested);
  if (download) {
    download.cancel();
    const hasArrived = await download.done.then(
      () => true,
      () => false,
    );
    // A download that was about to end is in the list of models, with its files.
    if (!hasArrived) return { success: true, id: requested, object: 'model', deleted: true };
  }
  const { demand, catalog } = await demandedModel(service, requested);
  if (demand.isBusy || demand.waiters.size > 0)
    throw new RequestError(
      'busy',
      `requests use ${demand.name}, or wait for it; delete it once they have ended`,
    );
  await catalog.remove(demand);
  return { success: true, id: demand.name, object: 'model', deleted: true };
}
