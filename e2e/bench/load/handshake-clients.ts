import { connect, createSecureContext } from 'node:tls';
import { HOST } from '../contenders/contender.ts';

/**
 * Clients that each send a request over a new TLS 1.3 connection, wait for its end and open the next: `PORT CONNECTIONS SECONDS`. No session
 * is resumed. Prints how many responses arrived, and in how many seconds.
 */
const [port = 0, connections = 0, seconds = 0] = process.argv.slice(2).map(Number);
const REQUEST = `GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`;
const secureContext = createSecureContext({ minVersion: 'TLSv1.3', ecdhCurve: 'X25519' });

let requests = 0;

function open(): void {
  let answer = '';
  const socket = connect({ host: '127.0.0.1', port, servername: HOST, secureContext, rejectUnauthorized: false });
  socket.on('secureConnect', () => socket.write(REQUEST));
  socket.on('data', (bytes: Buffer) => {
    if (answer === '') answer = bytes.toString('latin1');
  });
  // What follows says what is wrong: there is no complete response.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(`no response: ${answer.slice(0, 200)}`);
    requests++;
    open();
  });
}

for (let opened = 0; opened < connections; opened++) open();
const begun = performance.now();
setTimeout(() => {
  process.stdout.write(JSON.stringify({ requests, seconds: (performance.now() - begun) / 1_000 }));
  process.exit();
}, seconds * 1_000);
