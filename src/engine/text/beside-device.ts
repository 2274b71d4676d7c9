// Chooses the weights of a language model that stay in host memory: the experts of its first layers, then whole layers. The model is opened on devices that compute
// nothing, so that the other memory is known.

import { badRequest } from '../../files/error.ts';
import { option, say } from '../../files/message.ts';
import type { Device } from '../../gpu/device.ts';
import { openPaperTwin } from '../../gpu/paper-device.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';
import type { HostedOptions, HostedPart } from '../weights/hosted-experts.ts';
import type { TextModelOptions } from './calls/text-model.ts';
import type { RunnerCheckpoint, RunnerOptions } from './step/runner-options.ts';
import { openPaperRunner, residentLayers, SHARE, STEPS } from './streaming.ts';

/** Weights that the options ask to keep in host memory. */
export interface AskedBeside {
  /** Whether layers that the budget has no room for are in host memory. */
  layerwiseOffload: boolean;
  /** Number of first layers whose experts are in host memory. */
  expertLayers: number;
  /** Slots for the experts of such a layer; null: as many as the budget leaves room for. */
  expertSlots: number | null;
}

/** Throws bad_request where experts are asked for in host memory, and the model has none. */
export function askedBeside(
  {
    layerwiseOffload = false,
    cpuMoe = false,
    cpuMoeLayers = 0,
    cpuMoeSlots,
  }: Pick<TextModelOptions, 'layerwiseOffload' | 'cpuMoe' | 'cpuMoeLayers' | 'cpuMoeSlots'>,
  { architecture, experts }: Pick<TextDeclaration, 'architecture' | 'experts'>,
): AskedBeside {
  const expertLayers = cpuMoe ? Infinity : cpuMoeLayers;
  if (expertLayers > 0 && experts === null) {
    const param = cpuMoe ? 'cpuMoe' : 'cpuMoeLayers';
    throw badRequest(
      say`${option(param)} is for models of experts, and ${architecture} has none: leave it out, or use ${option('layerwiseOffload')}`,
      param,
    );
  }
  return { layerwiseOffload, expertLayers, expertSlots: cpuMoeSlots ?? null };
}

/** Returns what lies in host memory, as far as the budget has no room for it. May raise a budget that may grow. */
export async function placedBeside(
  device: Device,
  checkpoint: RunnerCheckpoint,
  config: TextDeclaration,
  options: RunnerOptions,
  { layerwiseOffload, expertLayers: layers, expertSlots: slots }: AskedBeside,
): Promise<HostedOptions> {
  const experts =
    layers === 0
      ? undefined
      : slots === null
        ? await hostedExperts(device, checkpoint, config, options, layers)
        : { layers, slots };
  if (!layerwiseOffload) return { experts };
  const streamed = await residentLayers(device, checkpoint, config, { ...options, experts });
  return { experts, streamed };
}

/** The choice with which a model takes the least memory on the device. */
export function leastBeside({
  layerwiseOffload,
  expertLayers: layers,
  expertSlots,
}: AskedBeside): HostedOptions {
  return {
    ...(layers > 0 && { experts: { layers, slots: expertSlots ?? 1 } }),
    ...(layerwiseOffload && { streamed: { bytes: 0 } }),
  };
}

/** Experts stay on the device where it has room for all of them; else they have slots in what a whole context leaves, at least one. */
async function hostedExperts(
  device: Device,
  checkpoint: RunnerCheckpoint,
  config: TextDeclaration,
  options: RunnerOptions,
  layers: number,
): Promise<HostedPart | undefined> {
  const bytesWith = async (experts?: HostedPart): Promise<number> => {
    const paper = openPaperTwin(device, Number.MAX_SAFE_INTEGER);
    const alone = { ...options, totalTokens: options.contextLength, experts };
    await openPaperRunner(paper, checkpoint, config, alone);
    return paper.memoryUsed;
  };
  const { count } = config.experts!;
  const most = await bytesWith();
  if (await device.reserve(most)) return undefined;
  const least = await bytesWith({ layers, slots: 1 });
  for (let step = STEPS - 1; step >= 0 && device.mayGrow; step--)
    if (await device.reserve(least + Math.ceil((step / STEPS) * (most - least)))) break;
  const each = Math.max(1, (most - least) / Math.max(1, count - 1));
  const room = Math.max(0, device.memoryBudget - least);
  return { layers, slots: Math.min(count, 1 + Math.floor((SHARE * room) / each)) };
}
