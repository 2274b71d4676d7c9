// Plans models in Node: folders on the disk, models that ship, and the hub's files over HTTP ranges.

import { totalmem } from 'node:os';
import { noteOf, option, say } from '../../files/message.ts';
import { firstBudget, hostBudget, INTEGRATED } from '../../gpu/adapter-profile.ts';
import { chosenProfile, withChoices } from '../../gpu/chosen-profile.ts';
import { freeHostMemory } from '../../gpu/free-memory.ts';
import { bestAdapter, readShader } from '../../gpu/node.ts';
import { openPaperDevice } from '../../gpu/paper-device.ts';
import { PLANNING } from '../../options/jobs.ts';
import { checkOptions, filledText, rulesOf, type Rules } from '../../engine/input/rules.ts';
import { checkExperts, checkKernelChoices } from '../../engine/text/request/text-rules.ts';
import type { ModelPlan, PlanOptions } from '../../engine/plan/model-plan.ts';
import { assertWanted, locate } from './locate-model.ts';
import { budgetNote } from '../session/budget-note.ts';
import type { PlanPlace } from '../../engine/plan/paper-model.ts';

const PLAN_OPTIONS: Rules = { model: filledText, ...rulesOf(PLANNING) };

/**
 * Tells what a model would take on this machine's adapter, or on an integrated GPU where no adapter answers: from its configuration and the
 * headers of its weights alone. No device is opened. Of a model on the hub only those bytes are fetched, and nothing is kept. Errors:
 * bad_request for options, model_not_found, bad_checkpoint, unsupported, network: those of opening the model; cancelled where `signal` aborts.
 */
export async function planModel(options: PlanOptions, signal?: AbortSignal): Promise<ModelPlan> {
  checkOptions(options, PLAN_OPTIONS, 'planModel', ['model']);
  checkKernelChoices(options);
  checkExperts(options);
  assertWanted(signal);
  const { like, profile } = await firstAdapter(options);
  const { memoryBudget = firstBudget(profile, freeHostMemory()) } = options;
  const { path, isRemote, openFolder } = await locate(options, signal);
  const place: PlanPlace = {
    isRemote,
    memory: totalmem(),
    openFolder(name) {
      assertWanted(signal);
      return openFolder(name);
    },
    openDevice(budget) {
      assertWanted(signal);
      return openPaperDevice({
        shaders: readShader,
        profile,
        memoryBudget: budget,
        hostBudget: hostBudget(profile, freeHostMemory(), budget),
        ...(like && { like }),
      });
    },
  };
  const { planFolder } = await import('../plan.ts');
  const plan = await planFolder(path, { ...options, memoryBudget }, place);
  const grows = options.memoryBudget === undefined && profile.memory.mayGrow && !plan.fits;
  const shared =
    options.memoryBudget !== undefined && profile.memory.freeShare > 0 ? freeHostMemory() : undefined;
  const told = grows ? GROWS : budgetNote(memoryBudget, shared);
  return told === null ? plan : { ...plan, notes: [...plan.notes, noteOf(told)] };
}

/**
 * Returns the bytes that a model may take on this machine's first adapter where its options set no budget, and whether the adapter may give more:
 * a GPU does not tell how much memory it has.
 */
export async function deviceBudget(): Promise<{ bytes: number; grows: boolean }> {
  const { profile } = await firstAdapter({});
  return { bytes: firstBudget(profile, freeHostMemory()), grows: profile.memory.mayGrow };
}

/** A system that cannot load the GPU binding has no adapter: the profile is then that of an integrated one. */
async function firstAdapter(options: Omit<PlanOptions, 'model'>) {
  const like = await bestAdapter().catch(() => undefined);
  return { like, profile: like ? chosenProfile(like, options) : withChoices(INTEGRATED, options) };
}

const GROWS = say`a GPU does not say how much memory it has: opening begins with this budget and takes more where the GPU gives it; plan for the GPU's memory with ${option('memoryBudget')}`;
