// The properties of an opened image model that programs may read: its class, size, defaults, and what requests it takes.

import type { Pipeline } from '../../files/pipeline/pipeline-index.ts';
import { DEFAULTS } from '../../options/limits.ts';
import type { FamilyModel } from './blocks/family.ts';
import type { ImageModelInfo } from './calls/image-model.ts';
import type { Components } from './components/components.ts';
import type { OwnSettings } from './request/own-settings.ts';
import type { ResolveContext } from './stages/resolved.ts';

export function describe(
  pipeline: Pipeline,
  model: string,
  components: Components,
  {
    pipeline: { family, set },
    model: called,
    sizeMultiple,
    framesPerLatent,
    decodesOnly,
    defaults,
    backend,
    schedulers,
  }: ResolveContext,
  {
    own,
    runner,
    enlarges,
    svdquant,
  }: {
    own: OwnSettings;
    runner: FamilyModel;
    enlarges: ImageModelInfo['upscaler'];
    svdquant: string | null;
  },
): ImageModelInfo {
  const { device, parameters, quantization, storedBytes } = components;
  const classes = Object.entries(pipeline.components).map(([name, component]) => [name, component.className]);
  return {
    kind: 'image',
    path: pipeline.path,
    name: nameOf(model),
    pipeline: pipeline.className,
    denoiser: components.get(family.denoiser).className,
    parameters,
    quantization,
    ...(svdquant !== null && { svdquant }),
    backend,
    sizeMultiple,
    frameMultiple: framesPerLatent,
    unreadClipLayers: runner.unreadClipLayers,
    defaults: {
      width: defaults.width,
      height: defaults.height,
      ...(framesPerLatent !== null && {
        frames: defaults.frames ?? 1,
        fps: defaults.fps ?? DEFAULTS.frameRate,
      }),
      steps: defaults.steps ?? DEFAULTS.steps,
      guidance: defaults.guidance ?? DEFAULTS.guidance,
      negativePrompt: defaults.negativePrompt ?? '',
    },
    schedulers: [...schedulers],
    components: Object.fromEntries(classes) as Record<string, string>,
    words: own.words?.size ?? null,
    supports: {
      imageToImage:
        runner.fillsMasks === false &&
        (framesPerLatent === null || (runner.frameImages !== undefined && !decodesOnly)),
      inpainting: set.references === undefined || set.classes.inpainting !== undefined,
      negativePrompt: 'negative_prompt' in set.callArguments('text-to-image', called),
      edits: set.references && !set.references.isFrames ? set.references.most : 0,
    },
    memory: { budget: device.memoryBudget, weights: storedBytes },
    upscaler: enlarges,
    adapter: device.summary,
  };
}

/** Returns the last segment of a folder or hub id, or the repository's name for a snapshot in the hub's cache. */
export function nameOf(model: string): string {
  const segments = model.replace(/[/\\]+$/, '').split(/[/\\]/);
  const repository = segments.at(-2) === 'snapshots' ? segments.at(-3)?.split('--').at(-1) : undefined;
  return repository ?? segments.at(-1) ?? model;
}
