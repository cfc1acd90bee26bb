import { generateKeyPairSync } from 'node:crypto';

/** A private key on P-256, which every authority and every browser takes: PKCS #8 in PEM. */
export const newPrivateKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' });
