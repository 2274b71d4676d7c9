// The golden of GLM's videos (scripts/reference/glm_clips.py), and its conversations about clips as requests.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ContentPart, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import type { Json } from '../../../../src/models/config-values.ts';
import type { Clip, VideoReader, VideoSource } from '../../../../src/models/media.ts';
import { mediaFamily } from '../../../../src/models/towers/media-families.ts';
import { frameOf } from '../../../models/vision/drawn-clips.ts';
import { requestOf, type Conversation } from './conversations.ts';

const FOLDER = fileURLToPath(new URL('../../../golden/ocr', import.meta.url));
const readJson = (path: string): unknown => JSON.parse(readFileSync(`${FOLDER}/${path}`, 'utf8'));

export const GOLDEN = readJson('glm-clips.json') as {
  clips: Record<string, [frames: number, fps: number, width: number, height: number]>;
  conversations: Record<string, Record<string, Conversation>>;
  choices: Record<string, [frames: number, fps: number, digest: string | null][]>;
  shown: Record<string, string>;
};

export const sourceOf = (frames: number, fps: number, width = 40, height = 30): VideoSource => ({
  ...{ frames, fps, width, height },
  duration: frames / fps,
});

/** `form`: the beginning of its processor's name, in place of what the folder says. */
export function readerOf(name: string, form?: string): VideoReader {
  const config = readJson(`${name}/config.json`) as Json;
  const stated = readJson(`${name}/processor_config.json`) as Record<string, Json>;
  const video = { ...stated['video_processor'], video_processor_type: `${form}VideoProcessor` };
  const changed = form ? { ...stated, processor_class: `${form}Processor`, video_processor: video } : stated;
  const [className] = config['architectures'] as string[];
  const files = { config, processors: { 'processor_config.json': changed as Json }, hidden: 48 };
  return mediaFamily(className!)!.read(files).readers.video!;
}

export function clipFor(reader: VideoReader, name: string): Clip {
  const source = sourceOf(...GOLDEN.clips[name]!);
  const indices = reader.frames(source);
  return { source, indices, frames: indices.map((t) => frameOf(t, source)) };
}

/** Conversations about clips with the model of a folder, by title; none for models without. */
export function clipConversations(name: string): [title: string, request: TextRequest, one: Conversation][] {
  const conversations = GOLDEN.conversations[name];
  if (!conversations) return [];
  const reader = readerOf(name);
  const partOf = (part: string): ContentPart =>
    part in GOLDEN.clips ? { type: 'video', video: clipFor(reader, part) } : { type: 'text', text: part };
  return Object.entries(conversations).map(([title, one]) => {
    const messages = one.turns.map(([role, content]) => ({ role, content: content.map(partOf) }));
    return [`${title}, of clips`, { ...requestOf({ ...one, turns: [] }), prompt: { messages } }, one];
  });
}
