// Tiny pipelines opened in this thread, whole or with one of their files changed.

import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenEvent } from '../../../src/engine/opening/open-event.ts';
import type { ImageModelOptions } from '../../../src/engine/image/calls/image-model.ts';
import { IMAGE } from '../../../src/host/kinds/image.ts';
import { openInline } from '../../../src/host/open.ts';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { tinyPipeline } from './pipeline-golden.ts';

const scratch = mkdtempSync(join(tmpdir(), 'svc-open-'));

/** A copy of a tiny pipeline with one of its JSON files changed. */
export function changed(file: string, values: Record<string, unknown>, of = tinyPipeline('sd1')): string {
  const folder = mkdtempSync(join(scratch, 'pipeline-'));
  cpSync(of, folder, { recursive: true });
  const path = join(folder, file);
  const json = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...json, ...values }));
  return folder;
}

export async function open(options: Partial<ImageModelOptions> = {}) {
  const events: OpenEvent[] = [];
  const model = await openInline(IMAGE, nodePlatform, { model: tinyPipeline('sd1'), ...options }, (event) =>
    events.push(event),
  );
  const notes = events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
  return { model, notes };
}

export const REQUEST = { prompt: 'a house', seed: 1, width: 24, height: 16, steps: 2 };
