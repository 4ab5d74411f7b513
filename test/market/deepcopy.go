package market

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyObject implements runtime.Object.
func (s *Shop) DeepCopyObject() runtime.Object { return deepCopy(s) }

// DeepCopyObject implements runtime.Object.
func (s *ShopList) DeepCopyObject() runtime.Object { return deepCopy(s) }

// DeepCopyObject implements runtime.Object.
func (s *Stall) DeepCopyObject() runtime.Object { return deepCopy(s) }

// DeepCopyObject implements runtime.Object.
func (s *StallList) DeepCopyObject() runtime.Object { return deepCopy(s) }

func deepCopy[T any](object *T) *T {
	b, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	copied := new(T)
	if err := json.Unmarshal(b, copied); err != nil {
		panic(err)
	}
	return copied
}
