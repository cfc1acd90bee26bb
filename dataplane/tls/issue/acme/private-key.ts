import { generateKeyPairSync } from 'node:crypto';

/** A P-256 private key, accepted by every authority and browser: PKCS #8 in PEM. */
export const newPrivateKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' });
