// Interface of a hub: the list of a model's files, a URL for each file, and error messages.
import { badCheckpoint, type EngineError, modelNotFound } from '../error.ts';
import type { Session } from './hub-http.ts';

export interface RepoFile {
  path: string;
  /** null: the listing does not contain the size; `describe` requests it. */
  size: number | null;
  /** Name of its blob in the cache: the sha256 of large files, the git object id or etag of small ones. */
  blob: string | null;
  /** `git` is the sha1 of the content as a git blob. Null where the hub gives no digest. */
  digest: { kind: 'sha256' | 'git'; value: string } | null;
}

export interface KnownFile extends RepoFile {
  size: number;
  blob: string;
}

export interface Listing {
  /** A full commit, the name of the snapshot folder. */
  commit: string;
  files: RepoFile[];
  /** The id of the model this one was made from, if its card says so. */
  baseModel: string | null;
}

export interface HubSource {
  name: string;
  endpoint: string;
  token: string | null;
  /** Name of the token's setting: an environment variable, or an option. */
  tokenVariable: string;
  /** Name of the setting for another hub of the same kind. */
  endpointVariable: string;
  /** Name of the environment variable that forbids the network, if it is set. */
  offline: string | null;
  /** The remedy for a hub that cannot be reached, for messages. */
  unreachableRemedy(id: string): string;
  /** Whether requests are sent by a browser's page (hub-http.ts). */
  inPage: boolean;
  defaultRevision: string;
  /** Sent to the endpoint only. */
  credentials: Record<string, string>;
  list(session: Session, id: string, revision: string): Promise<Listing>;
  /** Completes the entries that the listing leaves out. */
  describe(session: Session, id: string, commit: string, file: RepoFile): Promise<KnownFile>;
  /** `revision` as given by the user, `commit` from the listing. */
  fileUrl(id: string, revision: string, commit: string, path: string): string;
}

/** Throws for a listing with names that would be outside of the cache. */
export function checkListing(id: string, listing: Listing): Listing {
  const isSafeName = (name: string): boolean => /^[\w.-]+$/.test(name) && !/^\.+$/.test(name);
  const isSafePath = (path: string): boolean =>
    path !== '' &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..') &&
    !/[\\\0]|^[a-z]:/i.test(path);
  for (const { path, size, blob } of listing.files) {
    if (
      !isSafePath(path) ||
      (blob !== null && !isSafeName(blob)) ||
      (size !== null && !(Number.isSafeInteger(size) && size >= 0))
    ) {
      throw badCheckpoint(`${id} lists a file '${path}' with an impossible name or size; it is not fetched`);
    }
  }
  if (!isSafeName(listing.commit)) {
    throw badCheckpoint(
      `${id} names its revision '${listing.commit}', which is not a commit; it is not fetched`,
    );
  }
  return listing;
}

/** The error for a hub that responds with 401, 403 or 404. `gated`: the hub says that terms must be accepted. */
export function accessError(source: HubSource, id: string, status: number, gated: boolean): EngineError {
  const { name, endpoint, token, tokenVariable } = source;
  const page = `${endpoint}/${id}`;
  let message: string;
  if (gated) {
    message = token
      ? `the token in ${tokenVariable} has no access to the gated model ${id}; ask for access at ${page} with the account it belongs to`
      : `${id} is gated; accept its terms at ${page} and set ${tokenVariable} to a token of that account`;
  } else if (status === 404) {
    message = `${name} has no model ${id}${token ? '' : `, or it is private and needs ${tokenVariable}`}; check the spelling`;
  } else {
    message = token
      ? `${name} refuses ${id} to the token in ${tokenVariable} (${status}); check the id, and that the token is valid and may read it`
      : `${name} has no public model ${id} (${status}); check the spelling, or set ${tokenVariable} if it is private or gated`;
  }
  return modelNotFound(message, 'model');
}

export const revisionError = (source: HubSource, id: string, revision: string): EngineError =>
  modelNotFound(
    `${id} has no revision '${revision}' on ${source.name}; name a branch (default ${source.defaultRevision}), a tag or a commit`,
    'revision',
  );
