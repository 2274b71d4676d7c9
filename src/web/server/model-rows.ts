// The models of the server as rows: what /v1/models lists, and those of /server_info that are not listed because they are not open.

import { computed, signal } from '@preact/signals';
import { call, callJson, ServerError } from '../api/call.ts';
import { readEvents } from '../api/events.ts';
import { type ListedModel, models, type ModelStatus, refreshModels } from '../api/models.ts';
import { type ServedModel, serverInfo } from '../api/server-info.ts';

export interface ModelRow {
  id: string;
  kind: string;
  state: ModelStatus['value'] | 'failed';
  /** Why it failed, or why the last command for it was refused; '' if nothing did. */
  problem: string;
  /** Of loading or downloading, from 0 to 1; null: it is not known. */
  progress: number | null;
  pinned: boolean;
  /** Bytes on disk. */
  size: number | null;
  /** Bytes on the device. */
  memory: number | null;
}

/** States by the phases of /server_info, for servers whose list has no states. */
const STATES: Readonly<Record<string, ModelRow['state']>> = {
  ready: 'loaded',
  asleep: 'sleeping',
  starting: 'loading',
  failed: 'failed',
  unloaded: 'unloaded',
};

/** Why commands for models are refused; '': they are not, as far as is known. */
export const fixedList = signal('');
/** Refusals of single commands by the models' names. */
const refusals = signal<Readonly<Record<string, string>>>({});

export const rows = computed<ModelRow[]>(() => {
  const listed = (models.value ?? []).filter(({ parent }) => parent === null);
  const served = serverInfo.value?.models ?? [];
  const isListed = ({ names }: ServedModel): boolean => listed.some(({ id }) => names.includes(id));
  return [
    ...listed.map((model) =>
      rowOf(
        model,
        served.find(({ names }) => names.includes(model.id)),
      ),
    ),
    ...served
      .filter((one) => !isListed(one) && one.names.length > 0)
      .map((one) => rowOf({ id: one.names[0]!, parent: null, kind: one.kind }, one)),
  ];
});

/** Whether the server tells states, and may take commands. */
export const takesCommands = computed(
  () => fixedList.value === '' && (models.value ?? []).some(({ status }) => status !== undefined),
);

function rowOf(model: ListedModel, served: ServedModel | undefined): ModelRow {
  const { id, status, pinned = false, size = null } = model;
  const { weights = 0, kv = 0, arena = 0 } = served?.info?.memory ?? {};
  const failed = status?.failed ?? served?.phase === 'failed';
  const own = status?.value ?? STATES[served?.phase ?? 'ready'] ?? 'unloaded';
  return {
    id,
    kind: model.kind ?? served?.kind ?? '',
    state: failed ? 'failed' : own,
    problem: refusals.value[id] ?? status?.error ?? served?.reason ?? '',
    progress: status?.progress ?? null,
    pinned,
    size,
    memory: model.memory ?? (weights + kv + arena || null),
  };
}

type Command = 'load' | 'unload' | 'remove' | 'download';

/** Sends a command for a model. A refusal is shown at its row; one that is for every model ends the offering of commands. */
export async function command(name: Command, id: string): Promise<void> {
  const { [id]: _, ...others } = refusals.value;
  refusals.value = others;
  try {
    if (name === 'remove') await call(`models?model=${encodeURIComponent(id)}`, { method: 'DELETE' });
    else await callJson(name === 'download' ? 'models' : `models/${name}`, { model: id });
    // The list shows how far it is, whether or not its events can be read.
    if (name === 'download') void watchDownload(id).catch(() => {});
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (isForAll(error)) fixedList.value = message;
    else refusals.value = { ...refusals.value, [id]: message };
  }
  await refreshModels();
}

/** Refusals of servers whose models were fixed at their start; one that names the model is for that model alone. */
function isForAll(error: unknown): boolean {
  if (!(error instanceof ServerError)) return false;
  const { code, param, status } = error;
  return (code === 'unsupported' && param === null) || code === 'not_found' || status === 405;
}

/** Follows a download to its end: one that fails is not listed any more, and only the events say why. */
async function watchDownload(id: string): Promise<void> {
  for await (const { isComment, data } of readEvents(await call('models/sse'))) {
    if (isComment) continue;
    const { model, status } = JSON.parse(data) as { model: string; status: ModelStatus };
    if (model !== id || status.value === 'downloading') continue;
    if (status.error !== undefined) refusals.value = { ...refusals.value, [id]: status.error };
    return refreshModels();
  }
}

/** The refusal of a model that is in no row, as of one that could not be downloaded. */
export const refusalOf = (id: string): string => refusals.value[id] ?? '';
