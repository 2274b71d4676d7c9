// LoRAs that widen the first layer of a denoiser, so that it takes an image beside the latents (FLUX.1 Canny and Depth as LoRAs): the
// configuration and the pipeline class become those of such a model, and the layer gets columns of zeros, to which the LoRA adds. source:
// diffusers' _maybe_expand_transformer_param_shape_or_error_

import { unsupported } from '../../files/error.ts';
import { withColumns } from '../../files/checkpoint/padded-columns.ts';
import type { Weights } from '../../files/checkpoint/shards.ts';
import { openImageLora, type ImageLora } from '../../files/lora/image-lora.ts';
import { sizeOfDelta } from '../../files/lora/module.ts';
import type { Pipeline, WidenedLayer } from '../../files/pipeline/pipeline.ts';
import type { Platform } from '../platform/platform.ts';
import { takesSums } from '../weights/beside.ts';
import type { ImageFamily, WidenedInput } from './blocks/family.ts';
import { pipelineEntry, type PipelineEntry } from './families/registry.ts';

/** Returns the pipeline as the LoRAs at these paths widen it. Throws the errors of opening them, and unsupported. */
export async function widenedBy(
  platform: Pick<Platform, 'openFolder'>,
  pipeline: Pipeline,
  paths: readonly string[],
  families: readonly ImageFamily[],
): Promise<Pipeline> {
  const entry = pipelineEntry(pipeline.className, families);
  const { widening } = entry.family;
  if (!widening) return pipeline;
  let widest: { columns: number; file: ImageLora } | null = null;
  for (const path of paths) {
    const file = await openImageLora(await platform.openFolder(path));
    await file.close();
    const columns = inputColumns(file, widening);
    if (columns > (widest?.columns ?? 0)) widest = { columns, file };
  }
  return widest === null ? pipeline : withInput(pipeline, entry, widening, widest);
}

/** Columns of the first layer in a LoRA; 0: it does not change that layer. */
function inputColumns({ modules }: ImageLora, { module }: WidenedInput): number {
  const found = modules.flatMap(({ name, weight }) =>
    weight && module.test(name) ? [sizeOfDelta(weight).columns] : [],
  );
  return Math.max(0, ...found);
}

function withInput(
  pipeline: Pipeline,
  { task, set }: PipelineEntry,
  { component: name, tensor, inputs: key, outputs, classes }: WidenedInput,
  { columns, file }: { columns: number; file: ImageLora },
): Pipeline {
  const { components, className } = pipeline;
  const component = components[name]!;
  const { [key]: stored } = component.config;
  const plain = component.config[outputs] ?? stored;
  if (typeof stored !== 'number' || typeof plain !== 'number' || stored >= columns) return pipeline;
  const wanted = classes(columns, plain);
  const own = wanted[task] ?? Object.values(wanted)[0];
  if (own === undefined)
    throw unsupported(
      `${file.path} widens ${tensor} of the ${name} to ${columns} columns, and such a model of the class ${className} is not built: choose a LoRA whose layers have the model's own sizes`,
      'loraPath',
    );
  const isSame = Object.values(wanted).every((one) => Object.values(set.classes).includes(one));
  const config = { ...component.config, [key]: columns, [outputs]: plain };
  return {
    ...pipeline,
    className: isSame ? className : own,
    components: { ...components, [name]: { ...component, config } },
    widened: { component: name, tensor, columns, by: file.name },
  };
}

/** Returns weights with the widened layer. Throws unsupported where the layer is stored in codes. */
export function widenedWeights(weights: Weights, { tensor, columns, by }: WidenedLayer): Weights {
  const entry = weights.tensors.get(tensor);
  // A missing tensor is refused by its page.
  if (!entry) return weights;
  if (!takesSums(entry))
    throw unsupported(
      `the LoRA ${by} widens ${tensor}, which ${weights.path} stores as ${entry.dtype}: give weights that have this layer in f32, f16 or bf16, which may be quantized while they are loaded`,
      'loraPath',
    );
  return { ...weights, tensors: new Map(weights.tensors).set(tensor, withColumns(entry, columns)) };
}
