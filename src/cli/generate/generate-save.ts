// Saves what a run draws: images, clips as files or folders of frames, previews.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  coverImage,
  encodeImage,
  encodeVideo,
  EngineError,
  frameOf,
  type Frames,
  type ImageEvent,
  type ImageFormat,
  type ImageModelInfo,
  type ImageParameters,
  type ResolvedImageRequest,
  type VideoFormat,
} from '../../index.ts';
import { upscaledSize } from '../../options/upscaled-size.ts';
import { UsageError } from '../process/exit.ts';
import { USUAL_QUALITY } from './generate-options.ts';
import { type DrawPlan, PREVIEWS } from './generate-request.ts';
import { imageParameters, type ResolvedEvent } from './generate-resolved.ts';
import type { Run, Task } from './generate-run.ts';
import { saveNew, saveNewFolder, saveOver } from './image-file.ts';
import { saveNumbered } from './image-names.ts';
import { type ClipFormat, patternFor } from './name-pattern.ts';

type Drawn = Extract<ImageEvent, { type: 'image' }>;
type Format = ImageFormat | ClipFormat;

/** Formats without loss, or whose loss has no degree. */
const WITHOUT_QUALITY: readonly Format[] = ['png', 'frames', 'gif'];

/**
 * Throws UsageError if what is drawn cannot be saved as the options ask, and what encoding one frame of it throws: a format may lack its
 * package, or not take the size or the rate.
 */
export async function checkOutput({ names, given }: DrawPlan, values: ResolvedImageRequest): Promise<void> {
  const { frames, fps } = values;
  const { format } = patternFor(names, frames);
  const { options, nameOf } = given;
  if ((options['output-quality'] ?? USUAL_QUALITY) !== USUAL_QUALITY && WITHOUT_QUALITY.includes(format)) {
    const remedy =
      frames > 1
        ? 'is for MP4, WebM and WebP, and GIF and PNG have none: name clips .mp4, .webm or .webp, or leave it out'
        : 'is for JPEG and WebP, and these images are PNG: name them .jpg or .webp, or leave it out';
    throw new UsageError(`${nameOf('output-quality')} ${remedy}`);
  }
  if (frames === 1 || format === 'frames') return;
  const { width, height } = upscaledSize(values);
  const blank = { width, height, data: new Uint8Array(3 * width * height) };
  await encodeVideo(blank, { format: format as VideoFormat, ...(fps !== null && { fps }) });
}

/** Saves an image, or a clip. */
export async function saveOutput(run: Run, task: Task, event: Drawn): Promise<void> {
  const { plan, digests, model, report, perf } = run;
  const { index: prompt, resolved } = task;
  const { seed, sample, image, replica } = event;
  const { frames = 1 } = image;
  const { fps } = resolved.values;
  const started = performance.now();
  const about = { info: model.info, values: resolved.values, digests };
  const parameters = imageParameters(plan, about, { prompt: task.prompt, seed });
  const pattern = patternFor(plan.names, frames);
  const save = await saver(run, image, { format: pattern.format, fps, parameters });
  const names = nameValues(model.info, resolved, { prompt: task.prompt, seed, sample });
  const path = await saveNumbered(plan.given.options['output-path'], pattern, names, save);
  perf.saved(
    { path, prompt, sample, seed, ...(replica !== undefined && { replica }) },
    performance.now() - started,
  );
  const { width, height } = image;
  const clip = frames > 1 && fps !== null && { frames, fps };
  report.saved({ path, prompt, sample, seed, width, height, ...clip });
}

interface Encoding {
  format: Format;
  fps: number | null;
  parameters: ImageParameters;
}

/** Returns the function that saves an image under a free name, and returns false if the name is taken. */
async function saver(
  { plan, interrupt: { signal } }: Run,
  image: Frames,
  { format, fps, parameters }: Encoding,
): Promise<(path: string) => Promise<boolean>> {
  const quality = plan.given.options['output-quality'];
  const options = { ...(quality !== undefined && { quality }), parameters };
  if (format === 'frames')
    return (path) => saveNewFolder(path, (folder) => writeFrames(folder, image, options, signal));
  const isClip = (image.frames ?? 1) > 1;
  const bytes = isClip
    ? await encodeVideo(image, {
        ...options,
        format: format as VideoFormat,
        ...(fps !== null && { fps }),
        signal,
      })
    : await encodeImage(image, { ...options, format: format as ImageFormat });
  return (path) => saveNew(path, bytes);
}

async function writeFrames(
  folder: string,
  clip: Frames,
  options: { parameters: ImageParameters },
  signal: AbortSignal,
): Promise<void> {
  const { frames = 1 } = clip;
  const digits = Math.max(4, String(frames - 1).length);
  for (let i = 0; i < frames; i++) {
    if (signal.aborted) throw new EngineError('cancelled', 'interrupted');
    const name = `frame_${String(i).padStart(digits, '0')}.png`;
    await writeFile(join(folder, name), await encodeImage(frameOf(clip, i), { ...options, format: 'png' }));
  }
}

/** The longest side of the preview of a clip, whose frames are scaled and encoded after each step. */
const CLIP_PREVIEW_SIDE = 256;

/** Saves a preview: of an image at the size of the final one. Returns false, after a warning, if it cannot be saved; the run continues. */
export async function savePreview(
  { plan, report }: Run,
  values: ResolvedEvent['values'],
  { image, sample, step }: Extract<ImageEvent, { type: 'preview' }>,
): Promise<boolean> {
  const { frames = 1 } = image;
  const { fps } = values;
  const { width, height } = upscaledSize(values);
  const path = join(plan.given.options['output-path'], frames > 1 ? PREVIEWS.clip : PREVIEWS.image);
  try {
    const shrunk = frames > 1 ? Math.max(1, Math.max(width, height) / CLIP_PREVIEW_SIDE) : 1;
    const shown = await scaledFrames(image, Math.round(width / shrunk), Math.round(height / shrunk));
    const frameRate = fps === null ? {} : { frameRate: fps };
    const bytes = await encodeImage(shown, { format: frames > 1 ? 'webp' : 'png', ...frameRate });
    await saveOver(path, bytes);
    report.preview(path, sample, step);
    return true;
  } catch (error) {
    report.warn(error instanceof Error ? error.message : String(error));
    return false;
  }
}

async function scaledFrames(clip: Frames, width: number, height: number): Promise<Frames> {
  const { frames = 1 } = clip;
  const size = 3 * width * height;
  const data = new Uint8Array(frames * size);
  for (let i = 0; i < frames; i++)
    data.set((await coverImage(frameOf(clip, i), width, height)).data, i * size);
  return { width, height, frames, data };
}

function nameValues(
  { name: model }: ImageModelInfo,
  { values }: ResolvedEvent,
  image: { prompt: string; seed: number; sample: number },
) {
  const now = new Date();
  const two = (value: number) => String(value).padStart(2, '0');
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  return { ...image, model, ...upscaledSize(values), steps: values.steps, date, time };
}
