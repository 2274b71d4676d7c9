// Finds the files of a model in Node before it is opened: folders on the disk, models that ship, and the hub's files over HTTP ranges.

import { EngineError } from '../../files/error.ts';
import { localPath, orMistypedPath } from '../../files/hub/hub-local.ts';
import { openHubFolder } from '../../files/hub/hub-folder.ts';
import { shippedFolder } from '../../files/shipped.ts';
import { openDiskFolder } from '../../files/disk/source-disk.ts';
import type { PlanOptions } from '../../engine/plan/model-plan.ts';
import type { PlanPlace } from '../../engine/plan/paper-model.ts';

/** The model's folder: a path, the name of a model that ships, or an id of the hub. */
export async function locate(
  { model, revision }: PlanOptions,
  signal: AbortSignal | undefined,
): Promise<Pick<PlanPlace, 'openFolder'> & { path: string; isRemote: boolean }> {
  const path = (await localPath(model)) ?? shippedFolder(model);
  if (path !== null) return { path, isRemote: false, openFolder: openDiskFolder };
  const given = { ...(revision !== undefined && { revision }), ...(signal && { signal }) };
  const openFolder = await orMistypedPath(model, openHubFolder(model, given));
  return { path: model, isRemote: true, openFolder };
}

/** The name of a model's kind: a folder, the name of a model that ships, or an id of the hub, of which little is fetched. */
export async function kindOfModel(
  model: string,
  revision: string | undefined,
  signal: AbortSignal | undefined,
): Promise<string> {
  assertWanted(signal);
  const { path, openFolder } = await locate({ model, ...(revision !== undefined && { revision }) }, signal);
  const { kindOf } = await import('../plan.ts');
  return (await kindOf(await openFolder(path))).name;
}

/** Throws cancelled where `signal` has aborted. */
export function assertWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new EngineError('cancelled', 'planning the model was cancelled');
}
