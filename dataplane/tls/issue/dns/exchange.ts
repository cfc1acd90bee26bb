import { connect } from 'node:net';
import type { Clock } from '../../../../shared/runtime/clock.ts';

/** Time limit for one query and its response (ms). */
const EXCHANGE_MS = 10_000;

export type DnsServer = { readonly host: string; readonly port: number };

/**
 * Sends one message over TCP and resolves with the response, both without the length prefix (RFC 1035 4.2.2). @throws Error with a readable
 * message.
 */
export function exchange({ host, port }: DnsServer, message: Buffer, clock: Clock): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    let received = Buffer.alloc(0);
    const cancel = clock.after(EXCHANGE_MS, () => socket.destroy(new Error(`it does not answer within ${EXCHANGE_MS / 1_000} s`)));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      resolve(received.subarray(2, 2 + received.readUInt16BE(0)));
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => {
      cancel();
      reject(new Error('it closed the connection without an answer'));
    });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    socket.write(Buffer.concat([length, message]));
  });
}
