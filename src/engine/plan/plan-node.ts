// Plans models in Node: folders on the disk, models that ship, and the hub's files over HTTP ranges.

import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openHubFolder } from '../../files/hub/hub-folder.ts';
import { shippedFolder } from '../../files/shipped.ts';
import { openDiskFolder } from '../../files/source-disk.ts';
import { INTEGRATED } from '../../gpu/adapter-profile.ts';
import { firstBudget, readShader } from '../../gpu/node.ts';
import { openPaperDevice } from '../../gpu/paper-device.ts';
import { MODEL_SETTINGS } from '../../options/model.ts';
import { checkOptions, filledText, oneOf, rulesOf, type Rules } from '../rules.ts';
import { QUANTIZATIONS } from '../weights/quantization.ts';
import type { ModelPlan, PlanOptions } from './model-plan.ts';
import { planFolder } from './plan.ts';
import type { PlanPlace } from './plan-place.ts';

const { revision, memoryBudget, contextLength } = rulesOf(MODEL_SETTINGS);
const PLAN_OPTIONS: Rules = {
  model: filledText,
  revision,
  memoryBudget,
  contextLength,
  // A plan shows every choice, so that it has no use for `auto`.
  quantization: oneOf(...QUANTIZATIONS),
};

const openDevice = (memoryBudget: number) => openPaperDevice({ shaders: readShader, memoryBudget });

/**
 * Tells what a model would take: from its configuration and the headers of its weights alone. Of a model on the hub only those bytes are
 * fetched, and nothing is kept. Errors: bad_request for options, model_not_found, bad_checkpoint, unsupported, network; what opening the model would say.
 */
export async function planModel(options: PlanOptions): Promise<ModelPlan> {
  checkOptions(options, PLAN_OPTIONS, 'planModel', ['model']);
  const { model, revision, memoryBudget = firstBudget(INTEGRATED) } = options;
  const isPath = model !== '' && (await stat(model).catch(() => null)) !== null;
  const path = isPath ? resolve(model) : shippedFolder(model);
  const place: PlanPlace = { openDevice, openFolder: openDiskFolder };
  if (path !== null) return planFolder(path, { ...options, memoryBudget }, place);
  const openFolder = await openHubFolder(model, revision === undefined ? {} : { revision });
  return planFolder(model, { ...options, memoryBudget }, { ...place, openFolder });
}
