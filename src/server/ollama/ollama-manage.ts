// Fetching and deleting models in Ollama's interface, and the refusal of what would make or copy them.

import type { H3Event } from 'h3';
import type { Downloads } from '../catalog/downloads.ts';
import { fieldError, isUnforeseen, OLLAMA_ERRORS, RequestError, toErrorReply } from '../http/errors.ts';
import { createEventStream, LINES } from '../http/sse.ts';
import { deleteModel, downloadsFor } from '../manage/managing.ts';
import { bodyRoute } from '../service/route.ts';
import type { Service } from '../service/service.ts';
import { DELETE_FIELDS, OLLAMA, PULL_FIELDS } from './ollama-schema.ts';

const KEEP_ALIVE = 5000;
const ADMIN = { ...OLLAMA, access: 'admin' } as const;

export function refuseManaging(service: Service): never {
  const refused = service.onDemand
    ? 'models are not pushed, made or copied here: /api/pull fetches them from the hub, and files that are put into the folder of --models-dir are listed'
    : 'models are not pulled, pushed, made, copied or deleted here: they are given with --model-path when the server is started; svc pull and svc rm manage those from the hub, and a server with --models-dir pulls and deletes them';
  throw new RequestError('unsupported', refused);
}

export const PULL = bodyRoute(
  {
    summary:
      'Fetches a model from the hub, with its progress as lines; only where models are opened on demand.',
    ...ADMIN,
    fields: PULL_FIELDS,
    reply: 'OllamaDone',
    event: 'OllamaPullLine',
  },
  async ({ service, event, body }) => {
    if (!service.onDemand) refuseManaging(service);
    const id = idOf(nameOf(body));
    const following = downloadsFor(service, id).follow(id);
    if (body.stream ?? true) return pullLines(service, event, following);
    const { download, leave } = following;
    event.req.signal.addEventListener('abort', leave, { once: true });
    await download.done;
    return { status: 'success' as const };
  },
);

export const DELETE = bodyRoute(
  {
    summary: 'Deletes a model and its files; only where models are opened on demand.',
    ...ADMIN,
    fields: DELETE_FIELDS,
    reply: 'OllamaDone',
  },
  async ({ service, body }) => {
    if (!service.onDemand) refuseManaging(service);
    await deleteModel(service, nameOf(body));
    return { status: 'success' as const };
  },
);

function nameOf({ model, name }: { model?: string | undefined; name?: string | undefined }): string {
  const named = model ?? name;
  if (named === undefined)
    throw fieldError('model', 'is required; GET /api/tags lists the names', 'missing_required_parameter');
  return named;
}

/** The id on the hub: Ollama's clients write the hub's name before it, and a tag after it. */
const idOf = (name: string): string =>
  name.replace(/^(https?:\/\/)?(hf\.co|huggingface\.co)\//, '').replace(/:latest$/, '');

/** The lines of a download, whose reader ends it by leaving if nobody else waits for it. */
function pullLines(
  service: Service,
  event: H3Event,
  { download, leave: unfollow }: ReturnType<Downloads['follow']>,
): ReadableStream<Uint8Array> {
  const { watchers, options } = service;
  const leave = (): void => void watchers.delete(watch);
  const stream = createEventStream(
    {
      keepAlive: options.keepAlive ?? KEEP_ALIVE,
      onRoom() {},
      onCancel() {
        leave();
        unfollow();
      },
    },
    LINES,
  );
  const { id } = download;
  const tell = (): void => {
    const { received, total } = download;
    if (total > 0) stream.send({ status: `pulling ${id}`, digest: id, total, completed: received });
  };
  const watch: Parameters<typeof watchers.add>[0] = (change) => {
    if ('download' in change && change.download === download && !change.isOver) tell();
  };
  for (const [name, value] of Object.entries(LINES.headers)) event.res.headers.set(name, value);
  stream.send({ status: 'pulling manifest' });
  tell();
  watchers.add(watch);
  download.done
    .then(
      () => stream.send({ status: 'success' }),
      (error: unknown) => {
        if (isUnforeseen(error)) service.log.error(error);
        stream.send(OLLAMA_ERRORS.event(toErrorReply(error)));
      },
    )
    .finally(() => {
      leave();
      stream.end();
    });
  return stream.body;
}
