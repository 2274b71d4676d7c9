// A process that serves the fake model and prints its address; the tests send it signals. Arguments: the port, else a free one; milliseconds of its
// drain delay.

import { startServer, untilSignal } from '../../src/server/lifecycle.ts';
import { createFakeModel } from './fake-model.ts';

const log = { error: console.error, warn() {}, info() {}, debug() {} };
const server = await startServer(
  {
    host: '127.0.0.1',
    port: Number(process.argv[2] ?? 0),
    drainTime: 5000,
    drainDelay: Number(process.argv[3] ?? 0),
  },
  log,
);
server.addModel().ready(createFakeModel());
console.log(server.url);
const signal = await untilSignal();
await server.close();
process.exit(signal === 'SIGTERM' ? 0 : 130);
