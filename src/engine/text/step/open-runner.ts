// Loads a checkpoint's weights onto a device and makes the runner of a text model there.

import { bytesText } from '../../../files/bytes-text.ts';
import { unsupported } from '../../../files/error.ts';
import { option, say, type Prose } from '../../../files/message.ts';
import type { Device } from '../../../gpu/device.ts';
import type { KvFormat } from '../../../kernels/batch.ts';
import { isCoded } from '../../../kernels/kv-format.ts';
import type { TextDeclaration } from '../../../models/text/blocks/architecture.ts';
import type { PackedCache, PackedSlot } from '../../platform/platform.ts';
import { formatOf } from '../../weights/plan.ts';
import { unreadNote } from '../../weights/unread.ts';
import { packedLayout } from '../../weights/packed.ts';
import { openWeights, type LoadOptions, type Weights } from '../../weights/weights.ts';
import { weightBytesIn } from '../../weights/quantization.ts';
import { activationsNote } from './activations.ts';
import { statesBeside, usefulPages } from '../kv/kv-pages.ts';
import { roundedSlots } from '../kv/layer-stores.ts';
import { pageLayout } from '../kv/page-layout.ts';
import { DeviceLoras } from '../lora/lora-host.ts';
import { openTowers } from '../towers/open-towers.ts';
import { backedUpSlots, type RunnerCheckpoint, type RunnerOptions } from './runner-options.ts';
import { TextRunner } from './text-runner.ts';

/** Errors: out_of_memory, bad_checkpoint, what reading throws. */
export async function openRunner(
  device: Device,
  checkpoint: RunnerCheckpoint,
  config: TextDeclaration,
  options: RunnerOptions,
  { onProgress, onNote }: Required<Pick<LoadOptions, 'onProgress'>> & { onNote: (message: Prose) => void },
): Promise<TextRunner> {
  const quantized = options.quantization === 'none' ? null : options.quantization;
  if (!options.streamed && !options.experts) await reserveMemory(device, checkpoint, config, options);
  const weights = openWeights(device, checkpoint.tensors, config.generate!, {
    format: formatOf(options.quantization),
    streamed: options.streamed,
    experts: options.experts,
    mayStore: options.unread === true || options.packed !== null,
    configSource: checkpoint.configSource,
  });
  const unread = unreadNote(weights.unread, checkpoint.architecture);
  // Those of towers are read apart.
  if (unread !== null && !options.media) onNote(unread);
  const rounded = options.unread ? null : activationsNote(device, weights.formats);
  if (rounded !== null) onNote(rounded);
  const { fileBytes } = weights;
  const slot = await packedSlot(options.packed, checkpoint, device, quantized, fileBytes > 0);
  if (!options.unread) await weights.load({ slot, onProgress, onNote });
  // Experts are packed on the device before their slots are there, which a budget has to have room for.
  else if (options.experts && device.memoryBudget < Number.MAX_SAFE_INTEGER)
    await weights.load({ unread: true });
  weights.placeSlots();
  const { draft } = options;
  const drafts = draft ? await draft.load(device, weights.page, { unread: options.unread === true }) : null;
  const streaming = streamingNotes(weights);
  for (const note of streaming) onNote(note);
  const { media, unread: isUnread = false } = options;
  const {
    hidden,
    inputs: { deep = 0 },
  } = config;
  const kvFormat = kvFormatOf(checkpoint, config, options);
  const pageBytes = usefulBytes(device, config, options, kvFormat);
  const onStreamed = (note: string): void => {
    streaming.push(note);
    onNote(note);
  };
  const towers = media
    ? await openTowers(device, media, { hidden, deep, pageBytes, unread: isUnread, onNote: onStreamed })
    : null;
  const loras = new DeviceLoras(device, weights.adaptable);
  for (const { lora, file } of media?.loras ?? []) await loras.add(lora, file, { unread: isUnread });
  await options.loras(loras);
  return new TextRunner(device, config, options, {
    model: weights.page,
    weights,
    streaming,
    kvFormat,
    loras,
    towers,
    drafts,
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
    options.kept?.layout ??
    pageLayout(
      config.layers,
      kvFormatOf(checkpoint, config, options),
      options,
      device.capabilities.bindingLimit,
    );
  const bytesIn = weightBytesIn(device, checkpoint.tensors, config.generate!);
  const draftBytes = options.draft?.bytes(device, checkpoint.tensors, config) ?? 0;
  const least = bytesIn(options.quantization) + draftBytes + RESERVE_BYTES;
  const slots = roundedSlots(options.slots);
  const extra = statesBeside(config.layers, layout, slots, backedUpSlots(slots, options));
  const bytesWith = (pages: number): number => least + layout.pageBytes * pages + extra(pages);
  if (await device.reserve(bytesWith(usefulPages(device, layout, options)))) return;
  await device.reserve(bytesWith(layout.pagesOf(options.contextLength)));
}

/** Bytes of all pages that are useful, with the fixed states beside them. */
function usefulBytes(
  device: Device,
  config: TextDeclaration,
  options: RunnerOptions,
  format: KvFormat,
): number {
  const layout =
    options.kept?.layout ?? pageLayout(config.layers, format, options, device.capabilities.bindingLimit);
  const pages = usefulPages(device, layout, options);
  const slots = roundedSlots(options.slots);
  const beside = statesBeside(config.layers, layout, slots, backedUpSlots(slots, options));
  return layout.pageBytes * pages + beside(pages);
}

/** Tells where the weights are that are not on the device. */
function streamingNotes({ hostBytes, fileBytes, slots, plan }: Weights<unknown>): string[] {
  const all = bytesText(plan.bytes);
  const { metrics: experts, besideBytes, kept } = slots;
  const streamed = hostBytes - (fileBytes === 0 ? besideBytes : 0);
  const notes: string[] = [];
  if (kept > 0)
    notes.push(
      `the experts of ${kept} layers stay on the device, because they are stored in several formats`,
    );
  if (experts)
    notes.push(
      `${bytesText(besideBytes)} of ${all} of weights are experts in host memory, and the device has slots for ${experts.slots} of the ${experts.experts} of each of ${experts.layers} layers`,
    );
  if (streamed > 0 && !(experts && fileBytes > 0))
    notes.push(
      `${bytesText(streamed)} of ${all} of weights are in host memory, from which every step copies them`,
    );
  if (fileBytes > 0)
    notes.push(
      `${bytesText(fileBytes)} of ${all} of weights are read from a file${experts ? ' as they are needed' : ' in every step'}, because host memory has no room for them`,
    );
  return notes;
}

/** Only quantized weights, and those that every step reads, are cached: packing others takes no longer than reading a cached copy. */
async function packedSlot(
  packed: PackedCache | null,
  { path, shards }: RunnerCheckpoint,
  device: Device,
  quantized: string | null,
  isStored: boolean,
): Promise<PackedSlot | null> {
  if (packed === null || (quantized === null && !isStored)) return null;
  return packed.slot({ path, shards, quantization: quantized ?? 'stored', layout: packedLayout(device) });
}

/** Format of keys and values of layers that declare none. Throws unsupported for codes of keys that have to stay numbers. */
function kvFormatOf(
  { tensors }: RunnerCheckpoint,
  { architecture, layers, source }: TextDeclaration,
  { kvFormat, quantization }: RunnerOptions,
): KvFormat {
  const numbers = layers.find(
    (layer) => layer.kind === 'kv' && (source || layer.floats === true || layer.latent),
  );
  if (kvFormat && isCoded(kvFormat) && numbers) {
    const isLatent = 'latent' in numbers && numbers.latent;
    const kept = source ? "a source's beside its own" : isLatent ? 'latents in place of' : 'positions beside';
    throw unsupported(
      say`${option('kvCacheDtype')} ${kvFormat} is not built for ${architecture}, which keeps ${kept} keys: leave it out, or choose f16`,
      'kvCacheDtype',
    );
  }
  const isF32 = quantization === 'none' && [...tensors.values()].every(({ dtype }) => dtype === 'F32');
  return kvFormat ?? (isF32 ? 'f32' : 'f16');
}
