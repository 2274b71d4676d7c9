// Opens a family's model on the components of a pipeline, and checks that their files belong together.

import { badCheckpoint, badRequest } from '../../files/error.ts';
import type { Pipeline } from '../../files/pipeline/pipeline-index.ts';
import { readAutoencoder, type Autoencoder } from './blocks/autoencoder.ts';
import type { FamilyModel, ImageFamily } from './blocks/family.ts';
import type { ComponentAccess } from './components/components.ts';
import { readUpscaler, type Upscaler } from '../../models/image/upscalers/upscaler.ts';
import { PREVIEWS } from './components/preview-decoder.ts';
import { UPSCALER } from './layouts/upscaler.ts';

export interface OpenedFamily {
  autoencoder: Autoencoder;
  /** The decoder of previews that the user gives; null: none. */
  previews: Autoencoder | null;
  runner: FamilyModel;
  /** Network that enlarges what is decoded; null: none was given. */
  upscaler: Upscaler | null;
}

/** Throws bad_checkpoint, bad_request and unsupported. */
export async function openFamily(
  family: ImageFamily,
  components: ComponentAccess,
  pipeline: Pipeline,
): Promise<OpenedFamily> {
  const autoencoder = family.readAutoencoder(components.get(family.autoencoder));
  const runner = family.open(components, pipeline);
  if (runner.latentChannels !== autoencoder.latentChannels) {
    throw badCheckpoint(
      `the ${family.denoiser} of ${pipeline.path} denoises ${runner.latentChannels} channels, and its ${family.autoencoder} has ${autoencoder.latentChannels}: give the ${family.autoencoder} that it was trained with`,
      `${family.autoencoder}/config.json`,
    );
  }
  const { decodesOnly, encoder } = autoencoder;
  if (decodesOnly && runner.frameImages?.first === 'must')
    throw badRequest(
      `the ${family.autoencoder} that is given decodes only, and this model draws from images, which are encoded: give it as ${PREVIEWS} instead`,
      'componentPaths',
    );
  const previews = readPreviews(components, autoencoder);
  await runner.checkFiles();
  for (const build of decodesOnly ? [autoencoder.decoder] : [autoencoder.decoder, encoder])
    components.check(family.autoencoder, build);
  if (previews) components.check(PREVIEWS, previews.decoder);
  const upscaler = upscalerOf(components);
  if (upscaler) components.check(UPSCALER, upscaler.build);
  return { autoencoder, previews, runner, upscaler };
}

/** Throws bad_request for a decoder of other latents. */
function readPreviews(
  components: ComponentAccess,
  { latentChannels, factor }: Autoencoder,
): Autoencoder | null {
  if (!components.has(PREVIEWS)) return null;
  const read = readAutoencoder(components.get(PREVIEWS));
  if (read.latentChannels !== latentChannels || read.factor !== factor)
    throw badRequest(
      `${PREVIEWS} decodes latents of ${read.latentChannels} channels to ${read.factor} × ${read.factor} pixels each, and this model has ${latentChannels} channels and ${factor} × ${factor} pixels: give the one that was made for its autoencoder`,
      'componentPaths',
    );
  return { ...read, ...read.preview };
}

function upscalerOf(components: ComponentAccess): Upscaler | null {
  if (!components.has(UPSCALER)) return null;
  const { className, config } = components.get(UPSCALER);
  return readUpscaler(className, config, `${UPSCALER}/config.json`);
}
