import { createCipheriv, createHmac } from 'node:crypto';

export const HANDSHAKE = 22;
export const APPLICATION_DATA = 23;
/** Bytes before the payload of a record. */
export const RECORD_HEAD = 5;
/** The only cipher suite that `RecordKeys` knows. */
export const CIPHER = 'TLS_AES_128_GCM_SHA256';
/** A KeyUpdate that requests one in return (RFC 8446 4.6.3). */
const KEY_UPDATE = Buffer.from([24, 0, 0, 1, 1]);
/** OpenSSL accepts 32 in a row, and then more after a byte of data. */
const IN_A_ROW = 31;
const ROWS = 50;
/** Key updates in the result of `manyUpdates`. */
export const MANY = IN_A_ROW * ROWS;

/** HKDF-Expand-Label without a context (RFC 8446 7.1). */
function expanded(secret: Buffer, label: string, length: number): Buffer {
  const full = `tls13 ${label}`;
  const info = Buffer.concat([Buffer.from([0, length, full.length]), Buffer.from(full), Buffer.from([0, 1])]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, length);
}

/** Test support: encrypts the records that one side of TLS 1.3 sends after its handshake, so that it can send any. */
export class RecordKeys {
  private secret: Buffer;
  private key: Buffer = Buffer.alloc(0);
  private iv: Buffer = Buffer.alloc(0);
  private sequence = 0;

  /** `sent`: records that the library has sent with the same secret. */
  constructor(secret: Buffer, sent = 0) {
    this.secret = secret;
    this.useSecret();
    this.sequence = sent;
  }

  private useSecret(): void {
    this.key = expanded(this.secret, 'key', 16);
    this.iv = expanded(this.secret, 'iv', 12);
    this.sequence = 0;
  }

  record(type: number, data: Buffer | string): Buffer {
    const nonce = Buffer.from(this.iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ this.sequence++) >>> 0, 8);
    const inner = Buffer.concat([Buffer.from(data), Buffer.from([type])]);
    const head = Buffer.from([APPLICATION_DATA, 3, 3, 0, inner.length + 16]);
    const cipher = createCipheriv('aes-128-gcm', this.key, nonce).setAAD(head);
    const body = Buffer.concat([cipher.update(inner), cipher.final()]);
    return Buffer.concat([head, body, cipher.getAuthTag()]);
  }

  private keyUpdate(): Buffer {
    const record = this.record(HANDSHAKE, KEY_UPDATE);
    this.secret = expanded(this.secret, 'traffic upd', 32);
    this.useSecret();
    return record;
  }

  /** Many key updates, with `data` in between. */
  manyUpdates(data: Buffer | string): Buffer {
    const records: Buffer[] = [];
    for (let row = 0; row < ROWS; row++) {
      for (let nth = 0; nth < IN_A_ROW; nth++) records.push(this.keyUpdate());
      records.push(this.record(APPLICATION_DATA, data));
    }
    return Buffer.concat(records);
  }
}
