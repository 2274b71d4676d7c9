// What lists say of a model beside its properties: its state, its kind, its size on disk and on the device.

import type { OpenEvent, TextModel } from '../../index.ts';
import { memoryOf, type OnDemandModel } from '../catalog/on-demand-model.ts';
import type { Download } from '../catalog/downloads.ts';
import { mayUse } from './caller.ts';
import { isAsleep, progressText, type Service, type Slot } from './service.ts';

export interface ModelStatus {
  value: 'unloaded' | 'downloading' | 'loading' | 'loaded' | 'sleeping';
  /** The last attempt to open it failed. */
  failed?: true;
  error?: string;
  /** Share of what is being done, 0 to 1. */
  progress?: number;
  /** What is being done. */
  note?: string;
}

export function statusOf(slot: Slot): ModelStatus {
  const { phase, demand } = slot;
  switch (phase.name) {
    case 'ready':
      return { value: isAsleep(slot) ? 'sleeping' : 'loaded' };
    case 'starting': {
      if (demand?.state === 'waiting') return { value: 'loading', note: 'waiting for room' };
      const { progress } = phase;
      const share = shareOf(progress);
      return {
        value: progress?.type === 'download' ? 'downloading' : 'loading',
        ...(share !== null && { progress: share }),
        note: progressText(progress),
      };
    }
    default:
      return { value: 'unloaded', ...(phase.reason !== null && { failed: true, error: phase.reason }) };
  }
}

export function downloadStatus({ received, total }: Download): ModelStatus {
  return { value: 'downloading', progress: total > 0 ? rounded(received / total) : 0 };
}

/** To hundredths, so that not each byte is a change. */
const rounded = (share: number): number => Math.floor(100 * share) / 100;

function shareOf(progress: OpenEvent | null): number | null {
  if (progress === null || progress.type === 'note') return null;
  const [part, whole] =
    'bytes' in progress ? [progress.bytes, progress.totalBytes] : [progress.done, progress.total];
  return whole > 0 ? rounded(Math.min(1, part / whole)) : 0;
}

/** Members of an entry that do not depend on the kind of model. */
export function commonEntry(slot: Slot, id: string, created: number) {
  const { names, kind, phase, demand } = slot;
  const isAwake = phase.name === 'ready' && !isAsleep(slot);
  return {
    ...headOf(id, names[0] ?? id, created),
    status: statusOf(slot),
    kind: kind?.name ?? null,
    // Models that are not opened on demand stay as long as the server runs.
    pinned: demand?.isPinned ?? true,
    size: demand?.found.bytes ?? null,
    memory: isAwake ? memoryOf(phase.ready.model, demand?.planned ?? null) : (demand?.planned ?? null),
  };
}

function headOf(id: string, root: string, created: number) {
  return { id, object: 'model', created, owned_by: 'svc-engine', root, parent: null as string | null };
}

/** The LoRAs of a model; one that ends meanwhile has none. */
export const lorasOf = (model: TextModel): ReturnType<TextModel['loadedLoras']> =>
  model.loadedLoras().catch(() => []);

/** The entry of a model that is not open. */
export function paperEntry(slot: Slot, { name, found }: OnDemandModel, created: number) {
  const { architecture, contextLength, drawsClips } = found;
  return {
    ...commonEntry(slot, name, created),
    ...(architecture !== null && { architecture }),
    ...(contextLength !== null && { max_model_len: contextLength }),
    ...(drawsClips && { draws_clips: drawsClips }),
  };
}

/** Entries of models that are being fetched and not listed yet, and that the caller may use. */
export function downloadEntries({ onDemand, slots, startedAt }: Service) {
  const isListed = (id: string): boolean => slots.some(({ names }) => names.includes(id));
  return (onDemand?.downloads.running ?? [])
    .filter(({ id }) => !isListed(id) && mayUse([id]))
    .map((download) => ({
      ...headOf(download.id, download.id, startedAt),
      status: downloadStatus(download),
      kind: null,
      pinned: false,
      size: null,
      memory: null,
    }));
}
