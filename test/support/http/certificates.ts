/**
 * Certificates for 127.0.0.1 and localhost, made with `openssl req -x509` for tests and benchmarks
 * only. They are valid until 2125; `EXPIRED` was valid in 2024.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsFiles } from '../../../gateway/http/acceptor.js';

export interface Certificate {
  cert: string;
  key: string;
}

/** Writes the certificate and its key to files in a folder, or replaces them. */
export function writeCertificate(folder: string, { cert, key }: Certificate): TlsFiles {
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  chmodSync(keyFile, 0o600);
  return { certFile, keyFile };
}

export const FIRST: Certificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBlDCCATmgAwIBAgIUXGHDaI4eejo6ZqV647s8BTk7cIowCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFZmlyc3QwIBcNMjYxMTI3MTQwNjQ4WhgPMjEyNjExMDMxNDA2
NDhaMBAxDjAMBgNVBAMMBWZpcnN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
FRBO7OgZDPvEyYc5HvmpTmozJs02rlTYhVk+EfempkX6B/QW1uZ1cOJc/H7Dil89
LhhZ1qlrF1SyzNbZhw5FBqNvMG0wHQYDVR0OBBYEFPo3eAs/cEiLhW5HfyZS0f2w
uPbhMB8GA1UdIwQYMBaAFPo3eAs/cEiLhW5HfyZS0f2wuPbhMA8GA1UdEwEB/wQF
MAMBAf8wGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAoGCCqGSM49BAMCA0kA
MEYCIQDKhBdJFJaQ3qRAf7Q5XrEch+7fyvAMLIK4JXysHqWiNwIhAIXjfnUCPtlh
6Tw7tNNHWLyH/8bLXaj8kVe8CmwO1xMU
-----END CERTIFICATE-----`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvL/zTuX719lbeKL6
uCH9iuZLrRMIBt7Hvwusbdvxxu2hRANCAAQVEE7s6BkM+8TJhzke+alOajMmzTau
VNiFWT4R96amRfoH9BbW5nVw4lz8fsOKXz0uGFnWqWsXVLLM1tmHDkUG
-----END PRIVATE KEY-----`,
};

export const SECOND: Certificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBljCCATugAwIBAgIUJApm7LM//LKPy0p3UuDeZ5Hi9zYwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGc2Vjb25kMCAXDTI2MTEyNzE0MDY0OFoYDzIxMjYxMTAzMTQw
NjQ4WjARMQ8wDQYDVQQDDAZzZWNvbmQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AAQhXODrtDvC1qqYWZQHpsNGO3SUp5fzpxVo67NQua6IWP8zifeqH2tC1nmxkfnP
UKWbFFJtt8J1fr9h61knwGkho28wbTAdBgNVHQ4EFgQUfQNrfh3HTEy02fC6oBUr
VF03dHUwHwYDVR0jBBgwFoAUfQNrfh3HTEy02fC6oBUrVF03dHUwDwYDVR0TAQH/
BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZIzj0EAwID
SQAwRgIhAKPaGNhVJAKeaM68lcIN2iTRAOO7OgHYbzjiWzXhrlUtAiEAnhPw2iRW
tjLcoWEmk1SbKfuwzIQ3122f3gCE5SGFmU4=
-----END CERTIFICATE-----`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwifmTjrwfUa2Nca0
EPFy0EvoaMIC9eduAo0INwnb9+2hRANCAAQhXODrtDvC1qqYWZQHpsNGO3SUp5fz
pxVo67NQua6IWP8zifeqH2tC1nmxkfnPUKWbFFJtt8J1fr9h61knwGkh
-----END PRIVATE KEY-----`,
};

export const EXPIRED: Certificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBUDCB9qADAgECAgEBMAoGCCqGSM49BAMCMBIxEDAOBgNVBAMMB2V4cGlyZWQw
HhcNMjQwMTAxMDAwMDAwWhcNMjUwMTAxMDAwMDAwWjASMRAwDgYDVQQDDAdleHBp
cmVkMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8rWSj6P6/TxL7t6H+144iaPF
A9oWCwK5kXo3atP60TjfO0SYqjl1RKt8cVvLdYAHzblOim1X4yWzHPBGUta6/KM9
MDswGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMB0GA1UdDgQWBBSUvTfIte0N
ia6w9xGaXZAZ6HAl1jAKBggqhkjOPQQDAgNJADBGAiEAqDCqZ3NBVb1ix8rGgZ7l
iFQ0c+9NyQn14/hbAOcuUj0CIQD8fAu/c1wL0ibRNKDMC8bLqWKdtABBnWxEUxN7
XtjODw==
-----END CERTIFICATE-----`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgSq7wj0furwkxnK48
kejxDokarIM1A//ARk3dsuluT+uhRANCAATytZKPo/r9PEvu3of7XjiJo8UD2hYL
ArmRejdq0/rRON87RJiqOXVEq3xxW8t1gAfNuU6KbVfjJbMc8EZS1rr8
-----END PRIVATE KEY-----`,
};

/** The key of FIRST, encrypted. */
export const ENCRYPTED_KEY = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjUeS5bh+T4WwICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEECc0NWESrWhxSa1GiEMMcHcEgZAX
b5eN7l1SGvFuzAMQ1/Zutbu0XaPgAT7GBprmfYcBNSCc73tRb09FypVPgw41sIcm
OliqNBq1Dhil9ljPQdlQx/4CrDU3nG75Qy3y+31AibxfX65Wo8LuJBND+qO2vpK6
+MN16cf8vEVpJWozQIP+5fahnBz2A6HliVigzMHy5CLezHaYNPiekko7uGlJIuI=
-----END ENCRYPTED PRIVATE KEY-----`;
