// Loads a checkpoint's weights onto a device and makes the runner of a text model there.

import { bytesText } from '../../../files/bytes-text.ts';
import type { Device } from '../../../gpu/device.ts';
import type { TextDeclaration } from '../../../models/text/architecture.ts';
import type { PackedCache, PackedSlot } from '../../platform.ts';
import { formatOf } from '../../weights/plan.ts';
import { unreadNote } from '../../weights/unread.ts';
import { openWeights, type LoadOptions } from '../../weights/weights.ts';
import { weightBytesIn } from '../../weights/quantization.ts';
import { statesBeside, usefulPages } from '../cache/kv-pages.ts';
import { roundedSlots } from '../cache/layer-stores.ts';
import { pageLayout } from '../cache/page-layout.ts';
import { createLoraHost } from '../lora-host.ts';
import type { Runner, RunnerCheckpoint, RunnerOptions } from './runner.ts';
import { TextRunner } from './text-runner.ts';

/** Errors: out_of_memory, bad_checkpoint, what reading throws. */
export async function openRunner(
  device: Device,
  checkpoint: RunnerCheckpoint,
  config: TextDeclaration,
  options: RunnerOptions,
  { onProgress, onNote }: Required<Pick<LoadOptions, 'onProgress' | 'onNote'>>,
): Promise<Runner> {
  const quantized = options.quantization === 'none' ? null : options.quantization;
  if (!options.streamed) await reserveMemory(device, checkpoint, config, options);
  const weights = openWeights(device, checkpoint.tensors, config.generate!, {
    format: formatOf(options.quantization),
    streamed: options.streamed,
    configSource: checkpoint.configSource,
  });
  const unread = unreadNote(weights.unread, checkpoint.architecture);
  if (unread !== null) onNote(unread);
  const slot = await packedSlot(options.packed, checkpoint, device, quantized);
  if (!options.unread) await weights.load({ slot, onProgress, onNote });
  const { hostBytes } = weights;
  if (hostBytes > 0)
    onNote(
      `${bytesText(hostBytes)} of ${bytesText(weights.plan.bytes)} of weights are in host memory, from which every step copies them`,
    );
  const loras = createLoraHost(device, weights.adaptable);
  await options.adapters(loras);
  const kvFormat = storedAsF32(checkpoint) && quantized === null ? 'f32' : 'f16';
  return new TextRunner(device, config, options, {
    model: weights.page,
    parameters: weights.parameters,
    weightFormats: weights.formats,
    kvFormat,
    loras,
  });
}

/** Bytes left free for intermediates and step data when memory is allocated. */
const RESERVE_BYTES = 2 ** 29;

/** Allocates all pages that are useful, or else the pages of one context, with the fixed states beside them. */
async function reserveMemory(
  device: Device,
  checkpoint: RunnerCheckpoint,
  config: TextDeclaration,
  options: RunnerOptions,
): Promise<void> {
  const layout =
    options.kept?.layout ?? pageLayout(config.layers, 'f16', options, device.capabilities.bindingLimit);
  const bytesIn = weightBytesIn(device, checkpoint.tensors, config.generate!);
  const least = bytesIn(options.quantization) + RESERVE_BYTES;
  const besides = statesBeside(config.layers, layout, roundedSlots(options.slots));
  const bytesWith = (pages: number): number => least + layout.pageBytes * pages + besides(pages);
  if (await device.reserve(bytesWith(usefulPages(device, layout, options)))) return;
  await device.reserve(bytesWith(layout.pagesOf(options.contextLength)));
}

/** Changes whenever the packed layout, the rounding of quantization, or the checks before packing change. */
const PACKED_LAYOUT = 'columns32-block32-checked-exact';

/** Only quantized weights are cached: packing unquantized weights takes no longer than reading a cached copy. */
async function packedSlot(
  packed: PackedCache | null,
  checkpoint: RunnerCheckpoint,
  device: Device,
  quantized: string | null,
): Promise<PackedSlot | null> {
  if (quantized === null || packed === null) return null;
  const layout = `${PACKED_LAYOUT}-${device.capabilities.bindingLimit}`;
  return packed.slot({ path: checkpoint.path, shards: checkpoint.shards, quantization: quantized, layout });
}

function storedAsF32(checkpoint: RunnerCheckpoint): boolean {
  return [...checkpoint.tensors.values()].every(({ dtype }) => dtype === 'F32');
}
