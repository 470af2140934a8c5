mod departed;
mod distinct;
mod missed;
mod windows;

use rand::RngCore;

fn random(count: usize) -> Vec<u32> {
    (0..count).map(|_| rand::rng().next_u32()).collect()
}
