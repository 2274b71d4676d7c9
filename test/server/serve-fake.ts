// A process that serves the fake model and prints its address; the tests send it signals.

import { startServer, untilSignal } from '../../src/server/lifecycle.ts';
import { createFakeModel } from './fake-model.ts';

const log = { error: console.error, warn() {}, info() {}, debug() {} };
const server = await startServer({ host: '127.0.0.1', port: 0, drainTime: 5000 }, log);
server.addModel().ready(createFakeModel());
console.log(server.url);
const signal = await untilSignal();
await server.close();
process.exit(signal === 'SIGTERM' ? 0 : 130);
