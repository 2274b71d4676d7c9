// How much of a language model stays on the device while the rest of its layers is copied from host memory as they are computed. The
// model is opened on devices that compute nothing, so that the other memory is known.

import type { Device } from '../../gpu/device.ts';
import { openPaperTwin } from '../../gpu/paper-device.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';
import type { ResidentPart } from '../weights/layers.ts';
import { openRunner } from './step/open-runner.ts';
import type { RunnerCheckpoint, RunnerOptions } from './step/runner-options.ts';
import type { Runner } from './step/text-runner.ts';

/** Share of the memory beside one context that layers take, or slots of experts; the rest is for pages of further requests and for LoRAs. */
export const SHARE = 3 / 4;
/** Steps in which a budget that may grow is tried between no layer and all of them. */
export const STEPS = 8;

/**
 * Returns the part of the layers that stays: all where the budget has room for them, else as much as a whole context leaves. Where even
 * that has no room, the device copies no layer ahead of its turn.
 */
export async function residentLayers(
  device: Device,
  checkpoint: RunnerCheckpoint,
  config: TextDeclaration,
  options: RunnerOptions,
): Promise<ResidentPart> {
  const bytesWith = async (streamed: ResidentPart): Promise<number> => {
    const paper = openPaperTwin(device, Number.MAX_SAFE_INTEGER);
    const alone = { ...options, totalTokens: options.contextLength, streamed };
    await openPaperRunner(paper, checkpoint, config, alone);
    return paper.memoryUsed;
  };
  const [least, most] = [await bytesWith({ bytes: 0 }), await bytesWith({ bytes: Infinity })];
  if (await device.reserve(most)) return { bytes: Infinity };
  for (let step = STEPS - 1; step >= 0 && device.mayGrow; step--)
    if (await device.reserve(least + Math.ceil((step / STEPS) * (most - least)))) break;
  const room = device.memoryBudget - least;
  if (room < 0) device.prefetch = 0;
  return { bytes: Math.max(0, Math.floor(SHARE * room)) };
}

/** Opens a runner on a device that computes nothing, with weights that are not read. */
export function openPaperRunner(
  paper: Device,
  checkpoint: RunnerCheckpoint,
  config: TextDeclaration,
  options: RunnerOptions,
): Promise<Runner> {
  const unread = { ...options, kept: null, packed: null, unread: true };
  return openRunner(paper, checkpoint, config, unread, { onProgress: () => {}, onNote: () => {} });
}
