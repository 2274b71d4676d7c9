// The certificate and the key of an HTTPS server, read and checked before any model is opened.

import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { ServerOptions } from '../../server/entry.ts';
import { UsageError } from '../process/exit.ts';

interface TlsFiles {
  'ssl-certfile'?: string;
  'ssl-keyfile'?: string;
  'ssl-keyfile-password'?: string;
}

/** Throws UsageError for one file without the other, and for files that cannot be read or do not belong together. */
export function toTls(options: TlsFiles, environment = process.env): Pick<ServerOptions, 'tls'> {
  const { 'ssl-certfile': certFile, 'ssl-keyfile': keyFile } = options;
  const given = options['ssl-keyfile-password'];
  if (certFile === undefined && keyFile === undefined) {
    if (given !== undefined)
      throw new UsageError('--ssl-keyfile-password is for --ssl-keyfile, which is not given: give it, too');
    return {};
  }
  if (certFile === undefined || keyFile === undefined)
    throw new UsageError(
      `HTTPS needs both files: give ${certFile === undefined ? '--ssl-certfile' : '--ssl-keyfile'}, too`,
    );
  const password = given ?? (environment['SVC_SSL_KEYFILE_PASSWORD'] || undefined);
  const cert = read('--ssl-certfile', certFile);
  const key = read('--ssl-keyfile', keyFile);
  try {
    createSecureContext({ cert, key, ...(password !== undefined && { passphrase: password }) });
  } catch (error) {
    throw new UsageError(
      `--ssl-certfile ${certFile} and --ssl-keyfile ${keyFile} cannot be used together (${reasonOf(error)}): give a certificate in PEM and its own private key`,
    );
  }
  return { tls: { cert, key, ...(password !== undefined && { password }) } };
}

function read(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${option} ${path} cannot be read (${reasonOf(error)}): check the path`);
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
