import { createHash } from 'node:crypto';

/** A text message of 64 bytes (RFC 6455 5.2), as clients and as servers send it. */
const PAYLOAD = Buffer.alloc(64, 'x');
const MASK = Buffer.from([0x3a, 0x91, 0x5c, 0xe7]);
const FINAL_TEXT = 0x81;
const MASKED = 0x80;

export const FROM_CLIENT = Buffer.concat([
  Buffer.from([FINAL_TEXT, MASKED | PAYLOAD.length]),
  MASK,
  PAYLOAD.map((byte, at) => byte ^ (MASK[at % MASK.length] ?? 0)),
]);
export const FROM_SERVER = Buffer.concat([Buffer.from([FINAL_TEXT, PAYLOAD.length]), PAYLOAD]);

export const HEAD_END = '\r\n\r\n';

/** The field that accepts a key (RFC 6455 4.2.2). */
export const acceptOf = (key: string): string => createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
